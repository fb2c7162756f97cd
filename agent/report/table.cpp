// SPDX-License-Identifier: Apache-2.0
#include "agent/report/table.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace fastlet::agent {
namespace {

constexpr std::string_view kGap = "  ";

}  // namespace

std::string printable(std::string_view text) {
    std::string result;
    for (const char character : text) {
        const auto byte = static_cast<unsigned char>(character);
        if (byte < 0x20 || byte >= 0x7f)
            result += fmt::format("\\x{:02x}", byte);
        else
            result += character;
    }
    return result;
}

void Table::add(const std::vector<std::string>& cells) {
    Row row;
    for (const auto& cell : cells) row.cells.push_back(printable(cell));
    row.cells.resize(columns_.size());
    rows_.push_back(std::move(row));
}

void Table::note(std::string_view line) { rows_.push_back({{}, printable(line)}); }

std::string Table::line(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths) const {
    std::string result;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        if (i > 0) result += kGap;
        result += columns_[i].align == Align::left ? fmt::format("{:<{}}", cells[i], widths[i])
                                                   : fmt::format("{:>{}}", cells[i], widths[i]);
    }
    result.erase(result.find_last_not_of(' ') + 1);
    return result + '\n';
}

std::string Table::text() const {
    std::vector<std::string> titles;
    std::vector<std::size_t> widths;
    for (const auto& column : columns_) {
        titles.push_back(column.title);
        widths.push_back(column.title.size());
    }
    for (const auto& row : rows_)
        for (std::size_t i = 0; i < row.cells.size(); ++i) widths[i] = std::max(widths[i], row.cells[i].size());
    std::string result = line(titles, widths);
    for (const auto& row : rows_) result += row.cells.empty() ? row.note + '\n' : line(row.cells, widths);
    return result;
}

}  // namespace fastlet::agent
