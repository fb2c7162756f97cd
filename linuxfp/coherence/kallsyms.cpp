// SPDX-License-Identifier: Apache-2.0
#include "linuxfp/coherence/kallsyms.hpp"

#include <charconv>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

namespace fastlet::linuxfp {
namespace {

struct Symbol {
    std::uint64_t address = 0;
    std::string_view name;
};

// "ffffffff81f76db0 t nf_hook_entries_grow", in modules "...\t[nf_nat]" after it.
std::optional<Symbol> parseFunction(std::string_view line) {
    constexpr std::string_view kTextTypes = "tTwW";
    Symbol symbol;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), symbol.address, 16);
    const auto at = static_cast<std::size_t>(end - line.data());
    if (error != std::errc{} || line.size() < at + 4 || line[at] != ' ' || line[at + 2] != ' ') return std::nullopt;
    if (kTextTypes.find(line[at + 1]) == std::string_view::npos) return std::nullopt;
    symbol.name = line.substr(at + 3, line.find_first_of(" \t", at + 3) - (at + 3));
    return symbol;
}

}  // namespace

SymbolMatches findSymbols(std::istream& kallsyms, const std::set<std::uint64_t>& addresses, const std::set<std::string>& names) {
    SymbolMatches matches;
    bool anyFunction = false;
    bool anyAddress = false;
    std::string line;
    std::string name;
    while (std::getline(kallsyms, line)) {
        const auto symbol = parseFunction(line);
        if (!symbol) continue;
        anyFunction = true;
        if (symbol->address == 0) continue;
        anyAddress = true;
        if (addresses.contains(symbol->address)) matches.names.emplace(symbol->address, symbol->name);
        name.assign(symbol->name);
        if (names.contains(name)) matches.symbols[name] = symbol->address;
    }
    matches.hidden = anyFunction && !anyAddress;
    return matches;
}

std::string moduleSignature(std::istream& modules) {
    std::string signature;
    std::string line;
    while (std::getline(modules, line)) {
        std::istringstream fields(line);
        std::string name;
        std::string size;
        std::string users;
        std::string dependencies;
        std::string state;
        std::string address;
        fields >> name >> size >> users >> dependencies >> state >> address;
        signature += name + ' ' + size + ' ' + address + '\n';
    }
    return signature;
}

KernelSymbols::KernelSymbols(std::string kallsyms, std::string modules)
    : kallsyms_(std::move(kallsyms)), modules_(std::move(modules)) {
    noticeModules();
}

// The code of another module may have come to stand where a function was.
bool KernelSymbols::noticeModules() {
    std::ifstream file(modules_);  // missing in kernels without modules: the signature stays empty
    std::string signature = moduleSignature(file);
    if (signature == signature_) return false;
    signature_ = std::move(signature);
    known_.clear();
    return true;
}

std::map<std::uint64_t, std::string> KernelSymbols::names(const std::set<std::uint64_t>& addresses) {
    noticeModules();
    std::set<std::uint64_t> missing;
    for (const auto address : addresses)
        if (!known_.contains(address)) missing.insert(address);
    if (!missing.empty()) {
        std::ifstream file(kallsyms_);
        auto found = findSymbols(file, missing, {}).names;
        for (const auto address : missing) known_[address] = found[address];
    }
    std::map<std::uint64_t, std::string> result;
    for (const auto address : addresses)
        if (const auto& name = known_.at(address); !name.empty()) result.emplace(address, name);
    return result;
}

std::vector<std::uint64_t> KernelSymbols::addresses(const std::set<std::string>& names) {
    std::ifstream file(kallsyms_);
    std::vector<std::uint64_t> result;
    for (const auto& [name, address] : findSymbols(file, {}, names).symbols) result.push_back(address);
    return result;
}

}  // namespace fastlet::linuxfp
