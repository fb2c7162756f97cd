// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "core/types/ip_address.hpp"
#include "core/types/mac_address.hpp"

namespace fastlet {
namespace {

TEST(MacAddress, ParsesAndPrintsTheSameText) {
    const auto mac = MacAddress::parse("02:00:5e:10:ff:0a");
    ASSERT_TRUE(mac);
    EXPECT_EQ(mac->toString(), "02:00:5e:10:ff:0a");
}

TEST(MacAddress, RefusesWhatIsNotOne) {
    for (const char* text :
         {"", "02:00:5e:10:ff", "02:00:5e:10:ff:0", "02-00-5e-10-ff-0a", "02:00:5e:10:ff:0g", "02:00:5e:10:ff:0a:"})
        EXPECT_FALSE(MacAddress::parse(text)) << text;
}

TEST(IpAddress, ParsesBothFamilies) {
    ASSERT_TRUE(IpAddress::parse("192.0.2.1"));
    EXPECT_EQ(IpAddress::parse("192.0.2.1")->size(), 4U);
    ASSERT_TRUE(IpAddress::parse("2001:db8::1"));
    EXPECT_EQ(IpAddress::parse("2001:db8::1")->toString(), "2001:db8::1");
    for (const char* text : {"", "192.0.2", "192.0.2.256", "2001:db8:::1", "example"})
        EXPECT_FALSE(IpAddress::parse(text)) << text;
}

TEST(IpAddress, TakesOnlyFourOrSixteenBytes) {
    const std::array<std::uint8_t, 5> bytes{192, 0, 2, 1, 0};
    EXPECT_TRUE(IpAddress::fromBytes(std::span(bytes).first(4)));
    EXPECT_FALSE(IpAddress::fromBytes(bytes));
    EXPECT_FALSE(IpAddress::fromBytes({}));
}

TEST(IpPrefix, ContainsUpToTheBit) {
    const auto prefix = IpPrefix::parse("10.1.128.0/17");
    ASSERT_TRUE(prefix);
    EXPECT_TRUE(prefix->contains(*IpAddress::parse("10.1.255.255")));
    EXPECT_FALSE(prefix->contains(*IpAddress::parse("10.1.127.255")));
    EXPECT_FALSE(prefix->contains(*IpAddress::parse("::ffff:10.1.255.255")));
    EXPECT_TRUE(IpPrefix::parse("::/0")->contains(*IpAddress::parse("2001:db8::1")));
    EXPECT_TRUE(IpPrefix::parse("192.0.2.7")->contains(*IpAddress::parse("192.0.2.7")));
}

TEST(IpPrefix, RefusesBadLengths) {
    for (const char* text : {"10.0.0.0/33", "::/129", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/8x", "/8"})
        EXPECT_FALSE(IpPrefix::parse(text)) << text;
}

}  // namespace
}  // namespace fastlet
