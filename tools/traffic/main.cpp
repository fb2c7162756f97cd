// SPDX-License-Identifier: Apache-2.0
// fl-traffic loop: makes frames circulate through a router and answers requests on standard input, one word a line, with one JSON
// object a line on standard output: `seen`, `run`, `run-stamped`, `end`.
#include <CLI/CLI.hpp>
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/log.hpp"
#include "tools/traffic/loop.hpp"

namespace {

using namespace fastlet;
using traffic::Loop;
using traffic::Place;

Status obey(Loop& loop, const std::string& request) {
    if (request == "run") return loop.set(true, false);
    if (request == "run-stamped") return loop.set(true, true);
    if (request == "end") return loop.set(false, false);
    if (request == "seen") return {};
    return Error::make("unknown request " + request, "seen, run, run-stamped or end");
}

/// Every answer says what has been seen.
Status answer(Loop& loop, const std::string& request) {
    FASTLET_CHECK(obey(loop, request));
    FASTLET_TRY(seen, loop.seen());
    std::cout << nlohmann::json{{"frames", seen.frames}, {"last_ns", seen.lastNs}}.dump() << std::endl;
    return {};
}

Status serve(const Place& source, const Place& sink, const std::string& routerMac, const std::string& sourceMac) {
    const auto router = MacAddress::parse(routerMac), own = MacAddress::parse(sourceMac);
    if (!router || !own) return Error::make("not a MAC address: " + (router ? sourceMac : routerMac));
    FASTLET_TRY(loop, Loop::open(source, sink, {*router, *own}));
    FASTLET_CHECK(answer(loop, "seen"));
    for (std::string line; std::getline(std::cin, line);) FASTLET_CHECK(answer(loop, line));
    return {};
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Traffic for demonstrations and benches", "fl-traffic");
    app.require_subcommand(1);
    Place source, sink;
    std::string routerMac, sourceMac;
    auto* loop = app.add_subcommand("loop", "frames that circulate through a router");
    loop->add_option("--source-ns", source.space)->required();
    loop->add_option("--source-dev", source.device)->required();
    loop->add_option("--sink-ns", sink.space)->required();
    loop->add_option("--sink-dev", sink.device)->required();
    loop->add_option("--router-mac", routerMac, "of the interface at the other end of the source")->required();
    loop->add_option("--source-mac", sourceMac)->required();
    CLI11_PARSE(app, argc, argv);
    const auto done = serve(source, sink, routerMac, sourceMac);
    if (done) return 0;
    log::report(log::Level::error, done.error());
    return 1;
}
