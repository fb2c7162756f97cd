// SPDX-License-Identifier: Apache-2.0
// Aligned columns for a terminal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fastlet::agent {

/// `text` with everything but printable ASCII as \xNN: names from the kernel may hold terminal control sequences.
[[nodiscard]] std::string printable(std::string_view text);

class Table {
public:
    enum class Align : std::uint8_t { left, right };
    struct Column {
        std::string title;
        Align align = Align::left;
    };

    explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
    /// Missing cells are empty; cells are made printable.
    void add(const std::vector<std::string>& cells);
    /// A line of its own between the rows, as it is.
    void note(std::string_view line);
    [[nodiscard]] std::string text() const;

private:
    struct Row {
        std::vector<std::string> cells;
        std::string note;
    };
    [[nodiscard]] std::string line(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths) const;

    std::vector<Column> columns_;
    std::vector<Row> rows_;
};

}  // namespace fastlet::agent
