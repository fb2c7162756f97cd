// SPDX-License-Identifier: Apache-2.0
#include "tests/oracle/sandbox.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <sstream>

#include "tests/oracle/process.hpp"

namespace fastlet::oracle {

namespace {

constexpr const char* kOwnNamespace = "/proc/thread-self/ns/net";

void enter(const Fd& space) {
    // Cannot fail for a descriptor that was opened from a namespace; going on in the wrong one would be worse than to end.
    if (::setns(space.get(), CLONE_NEWNET) != 0) std::abort();
}

Result<Fd> fresh() {
    if (::unshare(CLONE_NEWNET) != 0) return Error::fromErrno("cannot make a network namespace", errno, "run it as root");
    return Fd(::open(kOwnNamespace, O_RDONLY | O_CLOEXEC));
}

bool writeFile(const std::string& path, const std::string& value) {
    const Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    const std::string line = value + "\n";
    return file.valid() && ::write(file.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size());
}

std::string joined(const std::vector<std::string>& lines) {
    std::string text;
    for (const auto& line : lines) text += line + "\n";
    return text;
}

std::vector<std::string> words(const std::string& text) {
    std::istringstream stream(text);
    std::vector<std::string> result;
    for (std::string word; stream >> word;) result.push_back(word);
    return result;
}

bool isRunning(const std::string& name) {
    const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ifreq request{};
    std::strncpy(request.ifr_name, name.c_str(), IFNAMSIZ - 1);
    if (::ioctl(socket.get(), SIOCGIFFLAGS, &request) != 0) return false;
    constexpr int kBoth = IFF_UP | IFF_RUNNING;
    return (request.ifr_flags & kBoth) == kBoth;
}

// Lines of /proc/net/snmp come in pairs: names, then values.
void readPairs(const char* path, std::map<std::string, std::uint64_t>& into) {
    std::ifstream file(path);
    for (std::string names, values; std::getline(file, names) && std::getline(file, values);) {
        const auto left = words(names);
        const auto right = words(values);
        for (std::size_t i = 1; i < left.size() && i < right.size(); ++i) {
            into[left[0].substr(0, left[0].size() - 1) + "." + left[i]] = static_cast<std::uint64_t>(std::stoll(right[i]));
        }
    }
}

}  // namespace

Result<std::unique_ptr<Sandbox>> Sandbox::build(const Configuration& configuration, bool hostNapi) {
    auto sandbox = std::unique_ptr<Sandbox>(new Sandbox);
    FASTLET_CHECK(sandbox->create());
    auto links = configuration.links;
    const auto hosts = fmt::format("/proc/{}/fd/{}", ::getpid(), sandbox->hosts_.get());
    for (auto& command : links) {
        const auto at = command.text.find("{HOSTS}");
        if (at != std::string::npos) command.text.replace(at, 7, hosts);
    }
    FASTLET_CHECK(sandbox->apply(links));
    if (!sandbox->refused_.empty()) return Error::make("the kernel refused a device: " + joined(sandbox->refused_));
    sandbox->enterHosts();
    std::vector<std::string> up;
    for (const auto& port : configuration.ports) up.push_back(fmt::format("link set {} arp off up", port.hostName));
    FASTLET_CHECK(sandbox->applyGroup(Tool::ip, up));
    if (hostNapi) FASTLET_CHECK(sandbox->enableNapi(configuration));
    FASTLET_CHECK(sandbox->awaitLinks(configuration));
    FASTLET_CHECK(sandbox->apply(configuration.rest));
    return sandbox;
}

Status Sandbox::create() {
    home_ = Fd(::open(kOwnNamespace, O_RDONLY | O_CLOEXEC));
    FASTLET_TRY(hosts, fresh());
    hosts_ = std::move(hosts);
    for (const char* path : {"/proc/sys/net/ipv6/conf/all/disable_ipv6", "/proc/sys/net/ipv6/conf/default/disable_ipv6"}) {
        if (!writeFile(path, "1")) return Error::fromErrno(std::string("cannot write ") + path, errno);
    }
    FASTLET_TRY(router, fresh());
    router_ = std::move(router);
    return {};
}

Sandbox::~Sandbox() {
    if (home_.valid()) enter(home_);
}

void Sandbox::enterRouter() const { enter(router_); }
void Sandbox::enterHosts() const { enter(hosts_); }

Status Sandbox::apply(const std::vector<Command>& commands) {
    enterRouter();
    std::vector<std::string> group;
    for (std::size_t i = 0; i < commands.size(); ++i) {
        group.push_back(commands[i].text);
        if (i + 1 < commands.size() && commands[i + 1].tool == commands[i].tool) continue;
        FASTLET_CHECK(applyGroup(commands[i].tool, group));
        group.clear();
    }
    return {};
}

Status Sandbox::applyGroup(Tool tool, const std::vector<std::string>& lines) {
    if (tool == Tool::sysctl) {
        for (const auto& line : lines) {
            const auto at = line.find('=');
            if (!writeFile("/proc/sys/" + line.substr(0, at), line.substr(at + 1))) refused_.push_back("sysctl " + line);
        }
        return {};
    }
    if (tool == Tool::iptablesNft || tool == Tool::iptablesLegacy) {
        for (const auto& line : lines) {
            auto arguments = words(line);
            arguments.insert(arguments.begin(), tool == Tool::iptablesNft ? "iptables-nft" : "iptables-legacy");
            FASTLET_TRY(finished, run(arguments));
            if (finished.status != 0) refused_.push_back(line + ": " + finished.errors);
        }
        return {};
    }
    const std::vector<std::string> arguments = tool == Tool::nft  ? std::vector<std::string>{"nft", "-f", "-"}
                                               : tool == Tool::ip ? std::vector<std::string>{"ip", "-force", "-batch", "-"}
                                                                  : std::vector<std::string>{"tc", "-force", "-batch", "-"};
    FASTLET_TRY(finished, run(arguments, joined(lines)));
    if (finished.status == 127) return Error::make(arguments[0] + " cannot be run", "install iproute2 and nftables");
    std::istringstream errors(finished.errors);
    std::string before;
    for (std::string line; std::getline(errors, line); before = line) {
        const auto at = line.find("Command failed -:");
        if (at == std::string::npos) continue;
        const auto number = static_cast<std::size_t>(std::stoul(line.substr(at + 17)));
        refused_.push_back(number - 1 < lines.size() ? lines[number - 1] + ": " + before : line);
    }
    if (tool == Tool::nft && finished.status != 0) refused_.push_back(joined(lines) + finished.errors);
    return {};
}

// The state of a link is set by a worker of the kernel a moment after the link came up; IPv6 begins only then.
Status Sandbox::awaitLinks(const Configuration& configuration) const {
    for (int attempt = 0; attempt < 2000; ++attempt) {
        bool all = true;
        enterHosts();
        for (const auto& port : configuration.ports) all = all && isRunning(port.hostName);
        enterRouter();
        for (const auto& port : configuration.ports) all = all && isRunning(port.name);
        if (all) return {};
        ::usleep(1000);
    }
    return Error::make("the links of the sandbox do not come up");
}

Status Sandbox::enableNapi(const Configuration& configuration) const {
    enterHosts();
    const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    for (const auto& port : configuration.ports) {
        ethtool_value value{ETHTOOL_SGRO, 1};
        ifreq request{};
        std::strncpy(request.ifr_name, port.hostName.c_str(), IFNAMSIZ - 1);
        request.ifr_data = reinterpret_cast<char*>(&value);
        if (::ioctl(socket.get(), SIOCETHTOOL, &request) != 0) return Error::fromErrno("cannot switch GRO on", errno);
    }
    return {};
}

bool Sandbox::running(const Port& port) const {
    enterRouter();
    return isRunning(port.name);
}

std::map<std::string, std::uint64_t> Sandbox::counters() const {
    enterRouter();
    std::map<std::string, std::uint64_t> result;
    readPairs("/proc/thread-self/net/snmp", result);
    std::ifstream file("/proc/thread-self/net/snmp6");
    std::string name;
    for (std::uint64_t value = 0; file >> name >> value;) result[name] = value;
    return result;
}

std::vector<std::string> Sandbox::neighbours() const {
    enterRouter();
    std::vector<std::string> result;
    const auto finished = run({"ip", "-o", "neigh", "show", "nud", "all"});
    if (!finished.ok()) return result;
    std::istringstream lines(finished->output);
    for (std::string line; std::getline(lines, line);) {
        auto parts = words(line);
        if (parts.size() < 4 || parts.back() == "NOARP") continue;
        const auto at = std::find(parts.begin(), parts.end(), "lladdr");
        const bool known = at != parts.end() && at + 1 != parts.end();
        result.push_back(fmt::format("{} {} {}", parts[2], parts[0], known ? *(at + 1) : "-"));
    }
    std::sort(result.begin(), result.end());
    return result;
}

}  // namespace fastlet::oracle
