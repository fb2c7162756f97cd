// SPDX-License-Identifier: Apache-2.0
// The router and its hosts, each a network namespace without a name: they vanish with the descriptors that hold them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/fd.hpp"
#include "core/result.hpp"
#include "tests/oracle/configuration.hpp"

namespace fastlet::oracle {

class Sandbox {
public:
    /// `hostNapi`: generic receive offload on the host ends, so that XDP may redirect to them.
    [[nodiscard]] static Result<std::unique_ptr<Sandbox>> build(const Configuration& configuration, bool hostNapi);
    Sandbox(const Sandbox&) = delete;
    Sandbox& operator=(const Sandbox&) = delete;
    ~Sandbox();

    /// The calling thread changes its namespace.
    void enterRouter() const;
    void enterHosts() const;

    /// In the router. Lines that the kernel refuses are skipped and counted: a refusal is the same in every run.
    Status apply(const std::vector<Command>& commands);
    [[nodiscard]] const std::vector<std::string>& refused() const { return refused_; }

    /// Is the router's end able to send and receive.
    [[nodiscard]] bool running(const Port& port) const;
    /// "Ip.ForwDatagrams" -> value, of /proc/net/snmp and snmp6, in the router.
    [[nodiscard]] std::map<std::string, std::uint64_t> counters() const;
    /// "r0 10.0.0.2 lladdr 02:..": what the neighbour table holds, without states and times.
    [[nodiscard]] std::vector<std::string> neighbours() const;

private:
    Sandbox() = default;
    Status create();
    Status applyGroup(Tool tool, const std::vector<std::string>& lines);
    Status awaitLinks(const Configuration& configuration) const;
    Status enableNapi(const Configuration& configuration) const;

    Fd home_, router_, hosts_;
    std::vector<std::string> refused_;
};

}  // namespace fastlet::oracle
