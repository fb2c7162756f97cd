// SPDX-License-Identifier: Apache-2.0
#include "agent/control/methods.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <limits>

#include "core/text.hpp"

namespace fastlet::agent {
namespace {

constexpr const char* kInvalidParameter = "io.fastlet.InvalidParameter";
constexpr const char* kPermissionDenied = "io.fastlet.PermissionDenied";
constexpr const char* kFailed = "io.fastlet.Failed";

const std::vector<std::string>& methodNames() {
    static const std::vector<std::string> names = {"io.fastlet.Ping",
                                                   "io.fastlet.Status",
                                                   "io.fastlet.linuxfp.Plan",
                                                   "io.fastlet.linuxfp.Stats",
                                                   "io.fastlet.linuxfp.Explain",
                                                   "io.fastlet.linuxfp.SetEnabled",
                                                   "org.varlink.service.GetInfo",
                                                   "org.varlink.service.GetInterfaceDescription"};
    return names;
}

Refusal invalid(Error error) { return {kInvalidParameter, std::move(error)}; }

// The parameters of one call. The first thing that is wrong stays as error(); reading goes on with defaults.
class Parameters {
public:
    Parameters(const Json& json, const std::vector<std::string>& known) : json_(json) {
        for (const auto& [name, value] : json.items())
            if (std::find(known.begin(), known.end(), name) == known.end())
                fail(fmt::format("unknown parameter {}", inQuotes(name)),
                     known.empty() ? "this method takes no parameters" : suggestion(name, known));
    }

    std::optional<std::string> string(const char* name) {
        const Json* value = find(name);
        if (!value) return std::nullopt;
        if (value->is_string() && !value->get_ref<const std::string&>().empty()) return value->get<std::string>();
        fail(fmt::format("parameter \"{}\" must be a string that is not empty", name));
        return std::nullopt;
    }

    std::string requiredString(const char* name) {
        auto value = string(name);
        if (!value) fail(fmt::format("parameter \"{}\" is missing", name));
        return value.value_or("");
    }

    bool requiredBool(const char* name) {
        const Json* value = find(name);
        if (value && value->is_boolean()) return value->get<bool>();
        fail(value ? fmt::format("parameter \"{}\" must be true or false", name)
                   : fmt::format("parameter \"{}\" is missing", name));
        return false;
    }

    template <class Number>
    std::optional<Number> number(const char* name) {
        constexpr auto kMax = std::numeric_limits<Number>::max();
        const Json* value = find(name);
        if (!value) return std::nullopt;
        // Negative numbers are parsed as signed ones, and never as unsigned.
        if (value->is_number_unsigned() && value->get<std::uint64_t>() <= kMax) return value->get<Number>();
        fail(fmt::format("parameter \"{}\" must be a whole number from 0 to {}", name, kMax));
        return std::nullopt;
    }

    std::optional<IpAddress> address(const char* name) {
        const auto value = string(name);
        if (!value) return std::nullopt;
        const auto parsed = IpAddress::parse(*value);
        if (!parsed) fail(fmt::format("parameter \"{}\" is not an IP address: {}", name, inQuotes(*value)));
        return parsed;
    }

    void fail(std::string message, std::string hint = {}) {
        if (!error_) error_ = Error::make(std::move(message), std::move(hint));
    }
    [[nodiscard]] const std::optional<Error>& error() const { return error_; }

private:
    const Json* find(const char* name) const {
        const auto found = json_.find(name);
        return found == json_.end() || found->is_null() ? nullptr : &*found;
    }

    const Json& json_;
    std::optional<Error> error_;
};

std::string interfaceOf(const std::string& method) { return method.substr(0, method.rfind('.')); }

Refusal unknownMethod(const std::string& method) {
    const auto& interfaces = interfaceNames();
    const std::string interface = method.find('.') == std::string::npos ? "" : interfaceOf(method);
    if (std::find(interfaces.begin(), interfaces.end(), interface) == interfaces.end())
        return {"org.varlink.service.InterfaceNotFound",
                Error::make(fmt::format("no interface for the method {}", inQuotes(method)), suggestion(method, methodNames())),
                Json::object({{"interface", interface}})};
    return {"org.varlink.service.MethodNotFound",
            Error::make(fmt::format("unknown method {}", inQuotes(method)), suggestion(method, methodNames())),
            Json::object({{"method", method}})};
}

}  // namespace

Methods::Answer Methods::call(const Request& request, bool mayChange) {
    try {
        return dispatch(request, mayChange);
    } catch (const std::exception& exception) {
        return Refusal{kFailed, Error::make(fmt::format("{} failed: {}", request.method, exception.what()))};
    }
}

Methods::Answer Methods::dispatch(const Request& request, bool mayChange) {
    const auto& known = methodNames();
    const std::string& method = request.method;
    if (std::find(known.begin(), known.end(), method) == known.end()) return unknownMethod(method);
    if (interfaceOf(method) == "org.varlink.service") return serviceMethod(method, request.parameters);
    if (method == "io.fastlet.linuxfp.Plan") return plan(request.parameters);
    if (method == "io.fastlet.linuxfp.Explain") return explain(request.parameters);
    if (method == "io.fastlet.linuxfp.SetEnabled") {
        if (!mayChange)
            return Refusal{kPermissionDenied, Error::make("only root and the daemon's own user may change the fast path",
                                                          "run the command as root")};
        return setEnabled(request.parameters);
    }
    const Parameters none(request.parameters, {});
    if (none.error()) return invalid(*none.error());
    if (method == "io.fastlet.Status") return toJson(makeStatus(engine_.report(), version_));
    if (method == "io.fastlet.linuxfp.Stats") return toJson(engine_.counters());
    return Json::object();  // Ping
}

Methods::Answer Methods::serviceMethod(const std::string& method, const Json& json) {
    if (method == "org.varlink.service.GetInfo") {
        const Parameters none(json, {});
        if (none.error()) return invalid(*none.error());
        return Json::object({{"vendor", "Fastlet"},
                             {"product", "fastlet"},
                             {"version", version_},
                             {"url", ""},
                             {"interfaces", interfaceNames()}});
    }
    Parameters parameters(json, {"interface"});
    const std::string name = parameters.requiredString("interface");
    if (parameters.error()) return invalid(*parameters.error());
    const std::string description = interfaceDescription(name);
    if (description.empty())
        return Refusal{"org.varlink.service.InterfaceNotFound",
                       Error::make(fmt::format("unknown interface {}", inQuotes(name)), suggestion(name, interfaceNames())),
                       Json::object({{"interface", name}})};
    return Json::object({{"description", description}});
}

Methods::Answer Methods::plan(const Json& json) {
    Parameters parameters(json, {"interface"});
    const auto wanted = parameters.string("interface");
    if (parameters.error()) return invalid(*parameters.error());
    PlanReport report = makeStatus(engine_.report(), version_).plan;
    if (wanted) {
        std::vector<std::string> names;
        for (const auto& interface : report.interfaces) names.push_back(interface.name);
        std::erase_if(report.interfaces, [&](const auto& interface) { return interface.name != *wanted; });
        if (report.interfaces.empty())
            return invalid(Error::make(fmt::format("there is no interface {}", inQuotes(*wanted)), suggestion(*wanted, names)));
    }
    return toJson(report);
}

Methods::Answer Methods::explain(const Json& json) {
    Parameters parameters(json, {"interface", "source", "destination", "protocol", "source_port", "destination_port", "size"});
    linuxfp::PacketQuery query;
    query.interface = parameters.requiredString("interface");
    query.source = parameters.address("source");
    query.destination = parameters.address("destination");
    query.protocol = parameters.number<std::uint8_t>("protocol");
    query.sourcePort = parameters.number<std::uint16_t>("source_port");
    query.destinationPort = parameters.number<std::uint16_t>("destination_port");
    query.size = parameters.number<std::uint32_t>("size");
    if (query.source && query.destination && query.source->family != query.destination->family)
        parameters.fail("source and destination are not of one address family");
    if (parameters.error()) return invalid(*parameters.error());
    auto explanation = engine_.explain(query);
    if (!explanation) return Refusal{kFailed, std::move(explanation).error()};
    return toJson(*explanation);
}

Methods::Answer Methods::setEnabled(const Json& json) {
    Parameters parameters(json, {"interface", "enabled"});
    const auto interface = parameters.string("interface");
    const bool enabled = parameters.requiredBool("enabled");
    if (parameters.error()) return invalid(*parameters.error());
    if (auto done = engine_.setEnabled(interface, enabled); !done) return Refusal{kFailed, std::move(done).error()};
    return Json::object();
}

}  // namespace fastlet::agent
