// SPDX-License-Identifier: Apache-2.0
#include "agent/config/config.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <functional>

#include "core/fd.hpp"
#include "core/text.hpp"

#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

namespace fastlet::agent {
namespace {

constexpr std::size_t kMaxFileBytes = 1 << 20;

// One key of one table: what it may hold and where it goes.
struct Key {
    std::string table;
    std::string name;
    std::string wanted;  // for the error message
    std::function<bool(const toml::node&, Config&)> apply;
};

template <class Get>
auto flag(Get get) {
    return [get](const toml::node& node, Config& config) {
        const auto value = node.value_exact<bool>();
        if (value) get(config) = *value;
        return value.has_value();
    };
}

template <class Get>
auto strings(Get get) {
    return [get](const toml::node& node, Config& config) {
        const auto* array = node.as_array();
        if (!array) return false;
        std::vector<std::string> values;
        for (const auto& element : *array) {
            const auto value = element.value_exact<std::string>();
            if (!value || value->empty()) return false;
            values.push_back(*value);
        }
        get(config) = std::move(values);
        return true;
    };
}

bool applyHook(const toml::node& node, Config& config) {
    const auto value = node.value_exact<std::string>();
    if (value != "tc" && value != "xdp") return false;
    config.linuxfp.virtualHook = *value == "tc" ? linuxfp::Hook::tc : linuxfp::Hook::xdp;
    return true;
}

bool applyLevel(const toml::node& node, Config& config) {
    const auto value = node.value_exact<std::string>();
    const auto level = value ? log::parseLevel(*value) : std::nullopt;
    if (level) config.logLevel = *level;
    return level.has_value();
}

const std::vector<Key>& keys() {
    static const std::string kPatterns = "must be an array of interface names or patterns, like [\"eth*\"]";
    static const std::vector<Key> all = {
        {"agent", "log_level", "must be \"error\", \"warning\", \"info\" or \"debug\"", applyLevel},
        {"linuxfp", "enabled", "must be true or false", flag([](Config& c) -> bool& { return c.linuxfp.enabled; })},
        {"linuxfp", "exclude", kPatterns, strings([](Config & c) -> auto& { return c.linuxfp.exclude; })},
        {"linuxfp", "interfaces", kPatterns, strings([](Config & c) -> auto& { return c.linuxfp.interfaces; })},
        {"linuxfp", "virtual_hook", "must be \"tc\" or \"xdp\"", applyHook},
    };
    return all;
}

std::vector<std::string> tableNames() {
    std::vector<std::string> names;
    for (const auto& key : keys())
        if (names.empty() || names.back() != key.table) names.push_back(key.table);
    return names;
}

std::vector<std::string> keyNames(const std::string& table) {
    std::vector<std::string> names;
    for (const auto& key : keys())
        if (key.table == table) names.push_back(key.name);
    return names;
}

class Reader {
public:
    explicit Reader(std::string fileName) : fileName_(std::move(fileName)) {}

    Result<Config> read(const toml::table& root) {
        for (const auto& [name, node] : root) FASTLET_CHECK(readTable(std::string(name.str()), name.source(), node));
        return std::move(config_);
    }

private:
    Error error(const toml::source_region& source, const std::string& message, std::string hint = {}) const {
        return Error::make(fmt::format("{}:{}: {}", fileName_, source.begin.line, message), std::move(hint), EINVAL);
    }

    Status readTable(const std::string& name, const toml::source_region& source, const toml::node& node) {
        const auto known = tableNames();
        const auto* table = node.as_table();
        if (std::find(known.begin(), known.end(), name) == known.end()) {
            // A key of a table that stands above all tables is a likely mistake of its own.
            for (const auto& key : keys())
                if (!table && key.name == name)
                    return error(source, fmt::format("key {} stands outside of a table", inQuotes(name)),
                                 fmt::format("put [{}] on a line before it", key.table));
            return error(source, fmt::format("unknown {} {}", table ? "table" : "key", inQuotes(name)), suggestion(name, known));
        }
        if (!table)
            return error(source, fmt::format("{} must be a table", inQuotes(name)), fmt::format("write [{}] on a line", name));
        for (const auto& [key, value] : *table) FASTLET_CHECK(readKey(name, std::string(key.str()), key.source(), value));
        return {};
    }

    Status readKey(const std::string& table, const std::string& name, const toml::source_region& source, const toml::node& node) {
        for (const auto& key : keys()) {
            if (key.table != table || key.name != name) continue;
            if (key.apply(node, config_)) return {};
            return error(source, fmt::format("[{}] {}: this value is not allowed", table, name),
                         fmt::format("{} {}", name, key.wanted));
        }
        return error(source, fmt::format("unknown key {} in [{}]", inQuotes(name), table), suggestion(name, keyNames(table)));
    }

    std::string fileName_;
    Config config_;
};

// The parser's sentence, on one line.
std::string oneLine(std::string_view text) {
    std::string line;
    for (const char character : text) {
        const auto byte = static_cast<unsigned char>(character);
        line += byte < 0x20 || byte >= 0x7f ? ' ' : character;
    }
    return line;
}

Result<std::string> readFile(const std::string& path) {
    const std::string what = "cannot read the configuration file " + path;
    const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!file.valid())
        return Error::fromErrno(what, errno,
                                errno == ENOENT ? "check the path, or leave the option out to run with defaults" : "");
    std::string text;
    std::array<char, 16384> block{};
    while (true) {
        const ssize_t got = ::read(file.get(), block.data(), block.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return Error::fromErrno(what, errno, errno == EISDIR ? "give the path of a file" : "");
        if (got == 0) return text;
        text.append(block.data(), static_cast<std::size_t>(got));
        if (text.size() > kMaxFileBytes) return Error::fromErrno(what, EFBIG, "is it really a Fastlet configuration?");
    }
}

}  // namespace

Result<Config> parseConfig(const std::string& text, const std::string& fileName) {
    const auto parsed = toml::parse(std::string_view(text), std::string_view(fileName));
    if (!parsed) {
        const auto& error = parsed.error();
        return Error::make(fmt::format("{}:{}: {}", fileName, error.source().begin.line, oneLine(error.description())),
                           "the file must be TOML", EINVAL);
    }
    return Reader(fileName).read(parsed.table());
}

Result<Config> loadConfig(const std::string& path) {
    FASTLET_TRY(text, readFile(path));
    return parseConfig(text, path);
}

}  // namespace fastlet::agent
