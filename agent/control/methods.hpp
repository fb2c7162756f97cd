// SPDX-License-Identifier: Apache-2.0
// What the control socket can be asked: one request in, one reply out. No sockets here.
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "agent/control/protocol.hpp"
#include "linuxfp/engine.hpp"

namespace fastlet::agent {

class Methods {
public:
    Methods(linuxfp::Engine& engine, std::string version) : engine_(engine), version_(std::move(version)) {}

    using Answer = std::variant<Json, Refusal>;  ///< the parameters of the reply, or why there is none
    /// `mayChange`: may this caller change what the daemon does? Everything else only reads. Never throws.
    Answer call(const Request& request, bool mayChange);

private:
    Answer dispatch(const Request& request, bool mayChange);
    Answer serviceMethod(const std::string& method, const Json& parameters);
    Answer plan(const Json& parameters);
    Answer explain(const Json& parameters);
    Answer setEnabled(const Json& parameters);

    linuxfp::Engine& engine_;
    std::string version_;
};

/// The interfaces in Varlink's description language; empty for an unknown name.
[[nodiscard]] std::string interfaceDescription(const std::string& name);
[[nodiscard]] const std::vector<std::string>& interfaceNames();

}  // namespace fastlet::agent
