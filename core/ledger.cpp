// SPDX-License-Identifier: Apache-2.0
#include "core/ledger.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "core/fd.hpp"

namespace fastlet {
namespace {

using nlohmann::json;

std::optional<std::vector<LedgerEntry>> parse(const std::string& text) {
    const json document = json::parse(text, nullptr, false);
    if (!document.is_object() || !document.contains("placed") || !document["placed"].is_array()) return std::nullopt;
    std::vector<LedgerEntry> entries;
    for (const auto& item : document["placed"]) {
        if (!item.is_object()) return std::nullopt;
        const auto kind = item.find("kind");
        const auto ifindex = item.find("ifindex");
        const auto name = item.find("interface");
        if (kind == item.end() || !kind->is_string() || ifindex == item.end() || !ifindex->is_number_unsigned() ||
            name == item.end() || !name->is_string())
            return std::nullopt;
        entries.push_back({kind->get<std::string>(), ifindex->get<std::uint32_t>(), name->get<std::string>()});
    }
    return entries;
}

Status writeAll(int fd, const std::string& text) {
    for (std::size_t done = 0; done < text.size();) {
        const ssize_t written = ::write(fd, text.data() + done, text.size() - done);
        if (written < 0 && errno != EINTR) return Error::fromErrno("cannot write the ledger", errno);
        if (written > 0) done += static_cast<std::size_t>(written);
    }
    return {};
}

}  // namespace

Result<Ledger> Ledger::open(const std::string& stateDir) {
    std::error_code failed;
    std::filesystem::create_directories(stateDir, failed);
    if (failed)
        return Error::make(fmt::format("cannot create the state directory {}: {}", stateDir, failed.message()),
                           "choose another one with --state-dir", failed.value());
    struct stat netns {};
    if (::stat("/proc/thread-self/ns/net", &netns)) return Error::fromErrno("cannot identify the network namespace", errno);
    Ledger ledger;
    ledger.path_ = fmt::format("{}/ledger-{}.json", stateDir, netns.st_ino);
    std::ifstream file(ledger.path_);
    if (!file) {
        if (errno == ENOENT) return ledger;
        return Error::fromErrno(fmt::format("cannot read the ledger {}", ledger.path_), errno);
    }
    std::ostringstream text;
    text << file.rdbuf();
    if (auto entries = parse(text.str())) {
        ledger.entries_ = std::move(*entries);
        return ledger;
    }
    ledger.corrupt_ = ledger.path_ + ".corrupt";
    if (::rename(ledger.path_.c_str(), ledger.corrupt_.c_str()))
        return Error::fromErrno(fmt::format("cannot move the damaged ledger {} aside", ledger.path_), errno);
    return ledger;
}

bool Ledger::has(const std::string& kind, std::uint32_t ifindex) const {
    return std::any_of(entries_.begin(), entries_.end(),
                       [&](const LedgerEntry& entry) { return entry.kind == kind && entry.ifindex == ifindex; });
}

Status Ledger::add(const LedgerEntry& entry) {
    if (std::find(entries_.begin(), entries_.end(), entry) != entries_.end()) return {};
    entries_.push_back(entry);
    auto saved = save();
    if (!saved) entries_.pop_back();
    return saved;
}

Status Ledger::remove(const std::string& kind, std::uint32_t ifindex) {
    const auto kept = std::remove_if(entries_.begin(), entries_.end(),
                                     [&](const LedgerEntry& entry) { return entry.kind == kind && entry.ifindex == ifindex; });
    if (kept == entries_.end()) return {};
    entries_.erase(kept, entries_.end());
    return save();
}

Status Ledger::save() const {
    if (entries_.empty()) {
        if (::unlink(path_.c_str()) && errno != ENOENT) return Error::fromErrno("cannot remove the empty ledger", errno);
        return {};
    }
    json placed = json::array();
    for (const auto& entry : entries_)
        placed.push_back({{"kind", entry.kind}, {"ifindex", entry.ifindex}, {"interface", entry.interface}});
    const std::string temporary = path_ + ".new";
    {
        const Fd file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
        if (!file.valid()) return Error::fromErrno(fmt::format("cannot write {}", temporary), errno);
        FASTLET_CHECK(writeAll(file.get(), json{{"placed", placed}}.dump(2) + "\n"));
        if (::fsync(file.get())) return Error::fromErrno(fmt::format("cannot sync {}", temporary), errno);
    }
    if (::rename(temporary.c_str(), path_.c_str())) return Error::fromErrno(fmt::format("cannot replace {}", path_), errno);
    return {};
}

}  // namespace fastlet
