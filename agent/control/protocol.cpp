// SPDX-License-Identifier: Apache-2.0
#include "agent/control/protocol.hpp"

#include <fmt/format.h>

#include "core/text.hpp"

namespace fastlet::agent {
namespace {

constexpr int kMaxDepth = 32;

// nlohmann parses any depth, but copying and printing such a value recurses: refused before it is built.
bool tooDeep(std::string_view text) {
    int depth = 0;
    bool string = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char character = text[i];
        if (string) {
            if (character == '\\')
                ++i;
            else if (character == '"')
                string = false;
        } else if (character == '"') {
            string = true;
        } else if (character == '{' || character == '[') {
            if (++depth > kMaxDepth) return true;
        } else if (character == '}' || character == ']') {
            --depth;
        }
    }
    return false;
}

Result<Json> parseObject(std::string_view text) {
    if (tooDeep(text)) return Error::make("the message is nested too deeply", fmt::format("at most {} levels", kMaxDepth));
    Json json = Json::parse(text.begin(), text.end(), nullptr, false);
    if (json.is_discarded()) return Error::make("the message is not JSON in UTF-8");
    if (!json.is_object()) return Error::make("the message is not a JSON object");
    return json;
}

const Json* member(const Json& object, const char* name) {
    const auto found = object.find(name);
    return found == object.end() ? nullptr : &*found;
}

std::string text(const Json& object, const char* name) {
    const Json* value = member(object, name);
    return value && value->is_string() ? value->get<std::string>() : std::string();
}

}  // namespace

Result<Request> parseRequest(std::string_view text) {
    FASTLET_TRY(json, parseObject(text));
    Request request;
    const Json* method = member(json, "method");
    if (!method || !method->is_string())
        return Error::make("the message names no method", R"(like {"method":"io.fastlet.Status","parameters":{}})");
    request.method = method->get<std::string>();
    if (const Json* parameters = member(json, "parameters"); parameters && !parameters->is_null()) {
        if (!parameters->is_object()) return Error::make("\"parameters\" must be an object");
        request.parameters = *parameters;
    }
    for (const char* name : {"oneway", "more", "upgrade"}) {
        const Json* flag = member(json, name);
        if (flag && !flag->is_boolean()) return Error::make(fmt::format("{} must be true or false", inQuotes(name)));
        if (flag && flag->get<bool>() && std::string_view(name) == "upgrade")
            return Error::make("this service knows no protocol to upgrade to");
    }
    request.oneway = member(json, "oneway") && member(json, "oneway")->get<bool>();
    return request;
}

std::string requestText(const std::string& method, const Json& parameters) {
    return dump(Json::object({{"method", method}, {"parameters", parameters}}));
}

std::string replyText(const Json& parameters) { return dump(Json::object({{"parameters", parameters}})); }

std::string refusalText(const Refusal& refusal) {
    Json parameters = refusal.details;
    parameters["message"] = refusal.error.message;
    parameters["hint"] = refusal.error.hint;
    return dump(Json::object({{"error", refusal.name}, {"parameters", std::move(parameters)}}));
}

Result<Json> parseReply(std::string_view bytes) {
    auto json = parseObject(bytes);
    if (!json) return std::move(json).error().withContext("the answer is not understood");
    const Json* parameters = member(*json, "parameters");
    if (const Json* error = member(*json, "error")) {
        const std::string name = error->is_string() ? error->get<std::string>() : "unknown error";
        const Json empty = Json::object();
        const Json& details = parameters && parameters->is_object() ? *parameters : empty;
        const std::string message = text(details, "message");
        return Error::make(message.empty() ? "the daemon refused: " + name : message, text(details, "hint"));
    }
    if (!parameters) return Json::object();
    if (!parameters->is_object()) return Error::make("the answer is not understood: \"parameters\" is not an object");
    return *parameters;
}

std::optional<std::string> MessageBuffer::next() {
    const auto end = bytes_.find('\0', scanned_);
    if (end == std::string::npos) {
        // What has been taken is dropped only here, once for all messages of a read.
        bytes_.erase(0, start_);
        start_ = 0;
        scanned_ = bytes_.size();
        return std::nullopt;
    }
    std::string message = bytes_.substr(start_, end - start_);
    start_ = scanned_ = end + 1;
    return message;
}

}  // namespace fastlet::agent
