// SPDX-License-Identifier: Apache-2.0
#include "agent/control/methods.hpp"

#include <gtest/gtest.h>

#include "tests/fakes/fake_engine.hpp"

namespace fastlet::tests {
namespace {

using agent::Json;

class MethodsTest : public testing::Test {
protected:
    Json good(const std::string& method, const char* parameters = "{}") {
        auto answer = methods.call({method, Json::parse(parameters), false}, true);
        if (const auto* json = std::get_if<Json>(&answer)) return *json;
        ADD_FAILURE() << std::get<agent::Refusal>(answer).error.message;
        return {};
    }
    agent::Refusal bad(const std::string& method, const char* parameters = "{}", bool mayChange = true) {
        auto answer = methods.call({method, Json::parse(parameters), false}, mayChange);
        if (auto* refusal = std::get_if<agent::Refusal>(&answer)) return *refusal;
        ADD_FAILURE() << "not refused: " << std::get<Json>(answer);
        return {};
    }

    FakeEngine engine;
    agent::Methods methods{engine, "1.2.3"};
};

TEST_F(MethodsTest, PlanOfAllAndOfOne) {
    EXPECT_EQ(good("io.fastlet.linuxfp.Plan")["interfaces"].size(), 2U);
    const Json one = good("io.fastlet.linuxfp.Plan", R"({"interface":"veth7"})");
    ASSERT_EQ(one["interfaces"].size(), 1U);
    EXPECT_EQ(one["interfaces"][0]["reasons"][0], "foreign-xdp: another XDP program is attached");
    EXPECT_EQ(one["generation"], 3);
    EXPECT_EQ(good("io.fastlet.linuxfp.Plan", R"({"interface":null})")["interfaces"].size(), 2U);
    const auto refusal = bad("io.fastlet.linuxfp.Plan", R"({"interface":"veth8"})");
    EXPECT_EQ(refusal.name, "io.fastlet.InvalidParameter");
    EXPECT_EQ(refusal.error.hint, "did you mean \"veth7\"?");
}

TEST_F(MethodsTest, StatsNameSlowReasons) {
    const Json stats = good("io.fastlet.linuxfp.Stats");
    EXPECT_EQ(stats["interfaces"][0]["fast4_packets"], 900);
    EXPECT_EQ(stats["interfaces"][0]["slow"], Json::parse(R"({"no-neighbour":5,"ttl":15})"));
    EXPECT_EQ(stats["interfaces"][1]["slow"], Json::object());
}

TEST_F(MethodsTest, ExplainPassesEverythingOn) {
    const Json answer = good("io.fastlet.linuxfp.Explain",
                             R"({"interface":"eth0","source":"10.0.0.1","destination":"10.0.0.2","protocol":17,
                                 "source_port":53,"destination_port":65535,"size":1500})");
    EXPECT_EQ(answer["fast"], true);
    EXPECT_EQ(answer["steps"][0]["check"], "interface");
    EXPECT_EQ(engine.asked.source->toString(), "10.0.0.1");
    EXPECT_EQ(engine.asked.destination->toString(), "10.0.0.2");
    EXPECT_EQ(engine.asked.protocol, 17);
    EXPECT_EQ(engine.asked.sourcePort, 53);
    EXPECT_EQ(engine.asked.destinationPort, 65535);
    EXPECT_EQ(engine.asked.size, 1500U);
    good("io.fastlet.linuxfp.Explain", R"({"interface":"eth0"})");
    EXPECT_FALSE(engine.asked.source || engine.asked.protocol || engine.asked.size);
}

TEST_F(MethodsTest, WrongParametersAreNamed) {
    const std::pair<const char*, const char*> wrong[] = {
        {R"({})", "parameter \"interface\" is missing"},
        {R"({"interface":7})", "parameter \"interface\" must be a string that is not empty"},
        {R"({"interface":"eth0","protocol":256})", "parameter \"protocol\" must be a whole number from 0 to 255"},
        {R"({"interface":"eth0","protocol":-1})", "parameter \"protocol\" must be a whole number from 0 to 255"},
        {R"({"interface":"eth0","source_port":1.5})", "parameter \"source_port\" must be a whole number from 0 to 65535"},
        {R"({"interface":"eth0","source_port":65536})", "parameter \"source_port\" must be a whole number from 0 to 65535"},
        {R"({"interface":"eth0","size":4294967296})", "parameter \"size\" must be a whole number from 0 to 4294967295"},
        {R"({"interface":"eth0","source":"10.0.0"})", "parameter \"source\" is not an IP address: \"10.0.0\""},
        {R"({"interface":"eth0","source":"10.0.0.1","destination":"::1"})",
         "source and destination are not of one address family"},
        {R"({"interface":"eth0","sorce":"10.0.0.1"})", "unknown parameter \"sorce\""},
    };
    for (const auto& [parameters, message] : wrong) {
        const auto refusal = bad("io.fastlet.linuxfp.Explain", parameters);
        EXPECT_EQ(refusal.name, "io.fastlet.InvalidParameter");
        EXPECT_EQ(refusal.error.message, message);
    }
    EXPECT_EQ(bad("io.fastlet.linuxfp.Explain", R"({"sorce":""})").error.hint, "did you mean \"source\"?");
    EXPECT_EQ(bad("io.fastlet.Status", R"({"verbose":true})").error.hint, "this method takes no parameters");
    EXPECT_EQ(bad("io.fastlet.linuxfp.SetEnabled", "{}").error.message, "parameter \"enabled\" is missing");
    EXPECT_TRUE(engine.changes.empty());
}

TEST_F(MethodsTest, ChangesNeedPermission) {
    EXPECT_EQ(bad("io.fastlet.linuxfp.SetEnabled", R"({"enabled":true})", false).name, "io.fastlet.PermissionDenied");
    good("io.fastlet.linuxfp.SetEnabled", R"({"enabled":false,"interface":"eth0"})");
    good("io.fastlet.linuxfp.SetEnabled", R"({"enabled":true})");
    ASSERT_EQ(engine.changes.size(), 2U);
    EXPECT_EQ(engine.changes[0], std::make_pair(std::string("eth0"), false));
    EXPECT_EQ(engine.changes[1], std::make_pair(std::string("*"), true));
    const auto refusal = bad("io.fastlet.linuxfp.SetEnabled", R"({"enabled":false,"interface":"nosuch"})");
    EXPECT_EQ(refusal.name, "io.fastlet.Failed");
    EXPECT_EQ(refusal.error.message, "there is no interface nosuch");
}

TEST_F(MethodsTest, AnEngineThatThrowsIsAReply) {
    engine.broken = true;
    EXPECT_EQ(bad("io.fastlet.Status").name, "io.fastlet.Failed");
}

TEST_F(MethodsTest, UnknownMethods) {
    EXPECT_EQ(bad("io.fastlet.Nothing").name, "org.varlink.service.MethodNotFound");
    EXPECT_EQ(bad("org.example.Ping").name, "org.varlink.service.InterfaceNotFound");
    EXPECT_EQ(bad("Ping").name, "org.varlink.service.InterfaceNotFound");
    EXPECT_EQ(bad("io.fastlet.linuxfp.Plans").error.hint, "did you mean \"io.fastlet.linuxfp.Plan\"?");
}

TEST_F(MethodsTest, DescribesItself) {
    const Json info = good("org.varlink.service.GetInfo");
    EXPECT_EQ(info["version"], "1.2.3");
    ASSERT_EQ(info["interfaces"].size(), 3U);
    for (const auto& name : info["interfaces"]) {
        const std::string parameters = Json::object({{"interface", name}}).dump();
        const auto text =
            good("org.varlink.service.GetInterfaceDescription", parameters.c_str())["description"].get<std::string>();
        EXPECT_NE(text.find("interface " + name.get<std::string>() + "\n"), std::string::npos);
    }
    EXPECT_EQ(bad("org.varlink.service.GetInterfaceDescription", R"({"interface":"x"})").name,
              "org.varlink.service.InterfaceNotFound");
}

}  // namespace
}  // namespace fastlet::tests
