// SPDX-License-Identifier: Apache-2.0
#include "agent/control/methods.hpp"

namespace fastlet::agent {
namespace {

constexpr const char* kService = R"(# What every Varlink service answers.
interface org.varlink.service

method GetInfo() -> (vendor: string, product: string, version: string, url: string, interfaces: []string)
method GetInterfaceDescription(interface: string) -> (description: string)

error InterfaceNotFound (interface: string)
error MethodNotFound (method: string)
error MethodNotImplemented (method: string)
error InvalidParameter (parameter: string)
)";

constexpr const char* kFastlet = R"(# The Fastlet daemon.
interface io.fastlet

type Interface (
  name: string,
  ifindex: int,
  hook: (none, xdp, tc),
  mode: (none, native, generic, tc),
  accelerates: []string,
  reasons: []string,
  held: bool,
  attached: bool
)
type Counters (fast_packets: int, slow_packets: int, held_packets: int)
type Engine (
  interfaces: []Interface,
  generation: int,
  observe: bool,
  held_all: bool,
  counters: Counters,
  routes: (ipv4: int, ipv6: int)
)

method Ping() -> ()
method Status() -> (ready: bool, version: string, linuxfp: Engine)

error InvalidMessage (message: string, hint: string)
error InvalidParameter (message: string, hint: string)
error PermissionDenied (message: string, hint: string)
error Failed (message: string, hint: string)
error Busy (message: string, hint: string)
)";

constexpr const char* kLinuxfp = R"(# The fast path in front of the kernel's packet processing. Errors are those of io.fastlet.
interface io.fastlet.linuxfp

type Interface (
  name: string,
  ifindex: int,
  hook: (none, xdp, tc),
  mode: (none, native, generic, tc),
  accelerates: []string,
  reasons: []string,
  held: bool,
  attached: bool
)
type Stats (
  name: string,
  ifindex: int,
  fast4_packets: int,
  fast6_packets: int,
  fast_bytes: int,
  held_packets: int,
  slow: [string]int
)
type Step (check: string, passed: bool, detail: string)

method Plan(interface: ?string) -> (interfaces: []Interface, generation: int, observe: bool, held_all: bool)
# What would happen to this packet? What is not given is not checked.
method Explain(
  interface: string,
  source: ?string,
  destination: ?string,
  protocol: ?int,
  source_port: ?int,
  destination_port: ?int,
  size: ?int
) -> (fast: bool, verdict: string, steps: []Step, next_hop: string, egress: string, next_hop_mac: string)
method Stats() -> (interfaces: []Stats)
# Only for root and the daemon's own user. Without an interface: all of them.
method SetEnabled(interface: ?string, enabled: bool) -> ()
)";

}  // namespace

const std::vector<std::string>& interfaceNames() {
    static const std::vector<std::string> names = {"org.varlink.service", "io.fastlet", "io.fastlet.linuxfp"};
    return names;
}

std::string interfaceDescription(const std::string& name) {
    if (name == "org.varlink.service") return kService;
    if (name == "io.fastlet") return kFastlet;
    if (name == "io.fastlet.linuxfp") return kLinuxfp;
    return {};
}

}  // namespace fastlet::agent
