// SPDX-License-Identifier: Apache-2.0
#include "agent/config/config.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <random>

namespace fastlet::agent {
namespace {

using Strings = std::vector<std::string>;

struct Refusal {
    const char* text;
    const char* message;
    const char* hint;
};

TEST(Config, EmptyFileMeansDefaults) {
    for (const char* text : {"", "\n# nothing\n", "[linuxfp]\n[agent]\n"}) {
        const auto config = parseConfig(text, "f");
        ASSERT_TRUE(config.ok()) << text;
        EXPECT_TRUE(config->linuxfp.enabled);
        EXPECT_EQ(config->linuxfp.interfaces, Strings{"*"});
        EXPECT_TRUE(config->linuxfp.exclude.empty());
        EXPECT_EQ(config->linuxfp.virtualHook, linuxfp::Hook::none);
        EXPECT_EQ(config->logLevel, log::Level::info);
    }
}

TEST(Config, ReadsEveryKey) {
    const auto config = parseConfig(
        "[linuxfp]\nenabled = false\ninterfaces = [\"eth*\", \"ens1\"]\nexclude = [\"eth9\"]\nvirtual_hook = \"xdp\"\n"
        "[agent]\nlog_level = \"debug\"\n",
        "f");
    ASSERT_TRUE(config.ok()) << config.error().message;
    EXPECT_FALSE(config->linuxfp.enabled);
    EXPECT_EQ(config->linuxfp.interfaces, (Strings{"eth*", "ens1"}));
    EXPECT_EQ(config->linuxfp.exclude, Strings{"eth9"});
    EXPECT_EQ(config->linuxfp.virtualHook, linuxfp::Hook::xdp);
    EXPECT_EQ(config->logLevel, log::Level::debug);
}

TEST(Config, NamesLineKeyAndRemedy) {
    const Refusal refusals[] = {
        {"[linuxfp]\ninterface = [\"a\"]\n", "f:2: unknown key \"interface\" in [linuxfp]", "did you mean \"interfaces\"?"},
        {"[linuxfp]\nzzzzzzzz = 1\n", "f:2: unknown key \"zzzzzzzz\" in [linuxfp]",
         "known here: enabled, exclude, interfaces, virtual_hook"},
        {"\n[linuxpf]\n", "f:2: unknown table \"linuxpf\"", "did you mean \"linuxfp\"?"},
        {"enabled = true\n", "f:1: key \"enabled\" stands outside of a table", "put [linuxfp] on a line before it"},
        {"linuxfp = 3\n", "f:1: \"linuxfp\" must be a table", "write [linuxfp] on a line"},
        {"[linuxfp]\n\nenabled = 1\n", "f:3: [linuxfp] enabled: this value is not allowed", "enabled must be true or false"},
        {"[linuxfp]\nenabled = \"true\"\n", "f:2: [linuxfp] enabled: this value is not allowed", "enabled must be true or false"},
        {"[linuxfp]\nvirtual_hook = \"XDP\"\n", "f:2: [linuxfp] virtual_hook: this value is not allowed",
         "virtual_hook must be \"tc\" or \"xdp\""},
        {"[linuxfp]\nvirtual_hook = \"none\"\n", "f:2: [linuxfp] virtual_hook: this value is not allowed",
         "virtual_hook must be \"tc\" or \"xdp\""},
        {"[linuxfp]\ninterfaces = \"eth0\"\n", "f:2: [linuxfp] interfaces: this value is not allowed",
         "interfaces must be an array of interface names or patterns, like [\"eth*\"]"},
        {"[linuxfp]\nexclude = [\"\"]\n", "f:2: [linuxfp] exclude: this value is not allowed",
         "exclude must be an array of interface names or patterns, like [\"eth*\"]"},
        {"[linuxfp]\nexclude = [\"a\", 2]\n", "f:2: [linuxfp] exclude: this value is not allowed",
         "exclude must be an array of interface names or patterns, like [\"eth*\"]"},
        {"[agent]\nlog_level = \"loud\"\n", "f:2: [agent] log_level: this value is not allowed",
         "log_level must be \"error\", \"warning\", \"info\" or \"debug\""},
    };
    for (const auto& refusal : refusals) {
        const auto config = parseConfig(refusal.text, "f");
        ASSERT_FALSE(config.ok()) << refusal.text;
        EXPECT_EQ(config.error().message, refusal.message);
        EXPECT_EQ(config.error().hint, refusal.hint);
    }
}

TEST(Config, MalformedTomlNamesTheLine) {
    for (const char* text : {"[linuxfp]\nenabled = \n", "[linuxfp]\nenabled\n", "[linuxfp]\n[linuxfp\n",
                             "[linuxfp]\nenabled = true enabled = false\n", "[agent]\nlog_level = \"a\nb\"\n"}) {
        const auto config = parseConfig(text, "dir/f.toml");
        ASSERT_FALSE(config.ok()) << text;
        EXPECT_EQ(config.error().message.rfind("dir/f.toml:2: ", 0), 0U) << config.error().message;
        EXPECT_EQ(config.error().message.find('\n'), std::string::npos);
    }
    EXPECT_FALSE(parseConfig("[linuxfp]\nenabled = true\nenabled = false\n", "f").ok());
}

TEST(Config, GarbageIsAnErrorOnOneLine) {
    std::mt19937 random(7);
    for (int round = 0; round < 300; ++round) {
        std::string text(1 + random() % 200, '\0');
        for (auto& character : text) character = static_cast<char>(random());
        text[0] = '\x7f';
        const auto config = parseConfig(text, "f");
        ASSERT_FALSE(config.ok());
        for (const char character : config.error().message) ASSERT_GE(character, ' ');
    }
    EXPECT_FALSE(parseConfig("a = " + std::string(100000, '['), "f").ok());
    EXPECT_FALSE(parseConfig("\"\\u001b[31m\\n\" = 1", "f").ok());
    EXPECT_EQ(parseConfig("\"\\u001b\" = 1", "f").error().message, "f:1: unknown key \"\\x1b\"");
}

TEST(Config, FilesThatCannotBeReadAreErrors) {
    EXPECT_EQ(loadConfig("/nonexistent/fastlet.toml").error().code, ENOENT);
    EXPECT_EQ(loadConfig("/").error().code, EISDIR);
    EXPECT_EQ(loadConfig("/dev/zero").error().code, EFBIG);
    char path[] = "/tmp/fastlet-config-XXXXXX";
    const int fd = ::mkstemp(path);
    ASSERT_GE(fd, 0);
    ::close(fd);
    std::ofstream(path) << "[linuxfp]\nenabled = false\n";
    const auto config = loadConfig(path);
    ::unlink(path);
    ASSERT_TRUE(config.ok());
    EXPECT_FALSE(config->linuxfp.enabled);
}

}  // namespace
}  // namespace fastlet::agent
