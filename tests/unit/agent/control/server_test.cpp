// SPDX-License-Identifier: Apache-2.0
#include "agent/control/server.hpp"

#include <gtest/gtest.h>

#include <random>

#include "agent/control/client.hpp"
#include "tests/unit/agent/control/running_server.hpp"

namespace fastlet::tests {
namespace {

using agent::Json;
using std::chrono::milliseconds;
const std::string kPing = R"({"method":"io.fastlet.Ping"})";
const std::string kPong = R"({"parameters":{}})";
const std::string kEnd(1, '\0');

TEST(ControlServer, AnswersPingAndStatus) {
    RunningServer server;
    RawClient client(server.path());
    ASSERT_TRUE(client.send(kPing + kEnd));
    EXPECT_EQ(client.receive(), kPong);
    const Json status = client.ask(R"({"method":"io.fastlet.Status","parameters":{}})");
    EXPECT_EQ(status["parameters"]["ready"], true);
    EXPECT_EQ(status["parameters"]["version"], "9.9.9");
    EXPECT_EQ(status["parameters"]["linuxfp"]["interfaces"][0]["name"], "eth0");
}

TEST(ControlServer, PutsSplitMessagesTogether) {
    RunningServer server;
    RawClient client(server.path());
    for (const char byte : kPing + kEnd) ASSERT_TRUE(client.send(std::string(1, byte)));
    EXPECT_EQ(client.receive(), kPong);
}

TEST(ControlServer, AnswersManyMessagesOfOneWriteInOrder) {
    RunningServer server;
    RawClient client(server.path());
    std::string bytes;
    for (int i = 0; i < 200; ++i) bytes += kPing + kEnd + R"({"method":"io.fastlet.X)" + std::to_string(i) + "\"}" + kEnd;
    ASSERT_TRUE(client.send(bytes));
    for (int i = 0; i < 200; ++i) {
        ASSERT_EQ(client.receive(), kPong);
        ASSERT_EQ(client.receiveJson()["parameters"]["method"], "io.fastlet.X" + std::to_string(i));
    }
}

TEST(ControlServer, WrongMessagesGetAnErrorAndTheConnectionGoesOn) {
    RunningServer server;
    RawClient client(server.path());
    const std::string wrong[] = {"",
                                 "{",
                                 "[]",
                                 "null",
                                 "\xff\xfe{}",
                                 R"({"method":7})",
                                 R"({"parameters":{}})",
                                 R"({"method":"io.fastlet.Ping","parameters":[]})",
                                 R"({"method":"io.fastlet.Ping","more":1})",
                                 R"({"method":"io.fastlet.Ping","upgrade":true})",
                                 "{\"method\":\"\xc3\x28\"}",
                                 R"({"method":"io.fastlet.Ping","parameters":)" + std::string(5000, '[')};
    for (const auto& text : wrong) {
        const Json reply = client.ask(text);
        EXPECT_EQ(reply["error"], "io.fastlet.InvalidMessage") << text;
        EXPECT_FALSE(reply["parameters"]["message"].get<std::string>().empty());
    }
    EXPECT_EQ(client.ask(kPing).dump(), kPong);
}

TEST(ControlServer, GarbageHarmsNobody) {
    RunningServer server;
    std::mt19937 random(11);
    RawClient client(server.path());
    for (int round = 0; round < 300; ++round) {
        std::string text(random() % 300, '\0');
        for (auto& character : text) character = static_cast<char>(1 + random() % 255);
        const Json reply = client.ask(text);
        ASSERT_TRUE(reply.is_object() && reply.contains("error"));
    }
    EXPECT_EQ(client.ask(kPing).dump(), kPong);
}

TEST(ControlServer, OversizeMessageIsRefusedAndTheConnectionClosed) {
    RunningServer server;
    RawClient client(server.path());
    client.send(std::string(agent::kMaxRequestBytes + 200 * 1024, 'x'));  // the server may hang up before the end
    EXPECT_EQ(client.receiveJson()["error"], "io.fastlet.InvalidMessage");
    EXPECT_EQ(client.receive(), "EOF");
    RawClient other(server.path());
    EXPECT_EQ(other.ask(kPing).dump(), kPong);
}

TEST(ControlServer, LargestMessageIsTaken) {
    RunningServer server;
    RawClient client(server.path());
    std::string text = kPing;
    text.insert(1, agent::kMaxRequestBytes - text.size(), ' ');
    EXPECT_EQ(client.ask(text).dump(), kPong);
}

TEST(ControlServer, HalfAMessageIsNotWaitedForForever) {
    agent::ControlOptions options;
    options.patience = milliseconds(30);
    options.sweepPeriod = milliseconds(10);
    RunningServer server(options);
    RawClient idle(server.path());
    EXPECT_EQ(idle.ask(kPing).dump(), kPong);
    RawClient client(server.path());
    ASSERT_TRUE(client.send("{\"method\":"));
    EXPECT_EQ(client.receive(), "EOF");
    EXPECT_EQ(idle.ask(kPing).dump(), kPong) << "a client between two messages is not timed out";
}

TEST(ControlServer, ASlowReaderIsBoundedAndDropped) {
    agent::ControlOptions options;
    options.patience = milliseconds(50);
    options.sweepPeriod = milliseconds(10);
    RunningServer server(options);
    RawClient client(server.path());
    // Never reads: the server stops reading when its answers do not fit, and hangs up after its patience.
    const std::string text = R"({"method":"io.fastlet.Status"})" + kEnd;
    std::string bytes;
    while (bytes.size() < 65536) bytes += text;
    bool accepted = true;
    std::size_t taken = 0;
    while (accepted && taken < (64U << 20)) {
        accepted = client.send(bytes);
        taken += bytes.size();
    }
    EXPECT_FALSE(accepted) << "the server must not take requests without end";
    RawClient other(server.path());
    EXPECT_EQ(other.ask(kPing).dump(), kPong);
}

TEST(ControlServer, AnswersThatDoNotFitAtOnceArriveWhole) {
    RunningServer server;
    for (int i = 0; i < 5000; ++i)
        server.engine.state.interfaces.push_back(
            FakeEngine::interface(100 + i, "veth" + std::to_string(i), linuxfp::Hook::tc, linuxfp::HookMode::tc));
    RawClient client(server.path());
    ASSERT_TRUE(client.send(R"({"method":"io.fastlet.Status"})" + kEnd + kPing + kEnd));
    const Json status = client.receiveJson();
    EXPECT_EQ(status["parameters"]["linuxfp"]["interfaces"].size(), 5002U);
    EXPECT_EQ(client.receive(), kPong);
}

TEST(ControlServer, TooManyClientsAreTurnedAwayUntilOneLeaves) {
    agent::ControlOptions options;
    options.maxClients = 2;
    RunningServer server(options);
    auto first = std::make_unique<RawClient>(server.path());
    RawClient second(server.path());
    EXPECT_EQ(first->ask(kPing).dump(), kPong);
    EXPECT_EQ(second.ask(kPing).dump(), kPong);
    RawClient third(server.path());
    EXPECT_EQ(third.receiveJson()["error"], "io.fastlet.Busy");
    EXPECT_EQ(third.receive(), "EOF");
    first.reset();
    EXPECT_EQ(second.ask(kPing).dump(), kPong);
    // The server sees the first one's end before or after this connection; it has to be let in sooner or later.
    for (int attempt = 0; attempt < 1000; ++attempt) {
        RawClient again(server.path());
        if (again.ask(kPing).dump() == kPong) return;
    }
    FAIL() << "nobody is let in after a client has left";
}

TEST(ControlServer, OnlyTheAllowedMayChange) {
    const std::string off = R"({"method":"io.fastlet.linuxfp.SetEnabled","parameters":{"enabled":false}})";
    {
        agent::ControlOptions options;
        options.mayChange = [](const ucred& peer) { return peer.pid != ::getpid(); };
        RunningServer server(options);
        RawClient client(server.path());
        EXPECT_EQ(client.ask(off)["error"], "io.fastlet.PermissionDenied");
        EXPECT_EQ(client.ask(kPing).dump(), kPong) << "reading is allowed";
        server.stop();
        EXPECT_TRUE(server.engine.changes.empty());
    }
    RunningServer server;  // the same user: allowed
    RawClient client(server.path());
    EXPECT_EQ(client.ask(off).dump(), kPong);
    server.stop();
    ASSERT_EQ(server.engine.changes.size(), 1U);
    EXPECT_EQ(server.engine.changes[0], std::make_pair(std::string("*"), false));
}

TEST(ControlServer, PeerRule) {
    EXPECT_TRUE(agent::rootOrSelf({1, 0, 1000}));
    EXPECT_TRUE(agent::rootOrSelf({1, ::geteuid(), 0}));
    EXPECT_FALSE(agent::rootOrSelf({1, ::geteuid() + 1, 0}));
}

TEST(ControlServer, OnewayGetsNoAnswer) {
    RunningServer server;
    RawClient client(server.path());
    ASSERT_TRUE(client.send(R"({"method":"io.fastlet.Status","oneway":true})" + kEnd));
    EXPECT_EQ(client.ask(kPing).dump(), kPong);
}

TEST(ControlServer, AClientThatLeavesInTheMiddleHarmsNobody) {
    RunningServer server;
    for (int i = 0; i < 50; ++i) {
        RawClient client(server.path());
        client.send(R"({"method":"io.fastlet.Status"})" + kEnd + "{\"meth");
    }
    RawClient client(server.path());
    EXPECT_EQ(client.ask(kPing).dump(), kPong);
}

TEST(ControlClient, TalksToTheServer) {
    RunningServer server;
    auto client = agent::ControlClient::connect(server.path());
    ASSERT_TRUE(client.ok());
    const auto status = client->call("io.fastlet.Status");
    ASSERT_TRUE(status.ok()) << status.error().message;
    EXPECT_EQ((*status)["ready"], true);
    const auto refused = client->call("io.fastlet.Statu");
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().message, "unknown method \"io.fastlet.Statu\"");
    EXPECT_EQ(refused.error().hint, "did you mean \"io.fastlet.Status\"?");
    server.stop();
    EXPECT_EQ(client->call("io.fastlet.Ping").error().message, "the daemon ended the connection");
    EXPECT_EQ(agent::ControlClient::connect(server.path()).error().code, ENOENT);
}

TEST(ControlClient, DoesNotWaitForASilentDaemon) {
    const TemporaryFolder folder;
    auto silent = agent::ListeningSocket::open(folder / "s");
    ASSERT_TRUE(silent.ok());
    auto client = agent::ControlClient::connect(folder / "s", milliseconds(20));
    ASSERT_TRUE(client.ok());
    const auto reply = client->call("io.fastlet.Ping");
    ASSERT_FALSE(reply.ok());
    EXPECT_EQ(reply.error().code, ETIMEDOUT);
    EXPECT_FALSE(reply.error().hint.empty());
}

}  // namespace
}  // namespace fastlet::tests
