// SPDX-License-Identifier: Apache-2.0
#include "core/ports/netlink_message.hpp"

#include <gtest/gtest.h>

#include "core/ports/netlink_socket.hpp"

namespace fastlet {
namespace {

TEST(NetlinkWriter, PadsToFourBytesAndTheReaderGivesBackWhatWasWritten) {
    NetlinkWriter inner;
    inner.number<std::uint16_t>(7, 0x1234);
    NetlinkWriter writer(std::uint32_t{5});
    writer.number<std::uint8_t>(1, 9).text(2, "veth0").nested(3, inner).number<std::uint32_t>(4, 0x01020304);
    const auto& bytes = writer.bytes();
    EXPECT_EQ(bytes.size() % NLMSG_ALIGNTO, 0u);
    NetlinkAttributeReader reader(ByteView(bytes).subspan(4));
    NetlinkAttribute attribute;
    ASSERT_TRUE(reader.next(attribute));
    EXPECT_EQ(attribute.u8(), 9);
    ASSERT_TRUE(reader.next(attribute));
    EXPECT_EQ(attribute.text(), "veth0");
    ASSERT_TRUE(reader.next(attribute));
    EXPECT_EQ(attribute.type, 3);  // the flag for nested is not part of it
    NetlinkAttributeReader nested(attribute.value);
    ASSERT_TRUE(nested.next(attribute));
    EXPECT_EQ(attribute.u16(), 0x1234);
    EXPECT_FALSE(nested.next(attribute));
    ASSERT_TRUE(reader.next(attribute));
    EXPECT_EQ(attribute.be32(), 0x04030201u);
    EXPECT_FALSE(reader.next(attribute));
    EXPECT_FALSE(reader.malformed());
}

TEST(NetlinkAttributeReader, AttributesThatLieAboutTheirLengthEndTheWalk) {
    for (const std::uint16_t length : {0, 3, 9, 65535}) {
        const nlattr header{length, 1};
        Bytes bytes(8);
        std::memcpy(bytes.data(), &header, sizeof(header));
        NetlinkAttributeReader reader(bytes);
        NetlinkAttribute attribute;
        EXPECT_FALSE(reader.next(attribute)) << length;
        EXPECT_TRUE(reader.malformed()) << length;
    }
    const Bytes rest(3);
    NetlinkAttributeReader reader(rest);
    NetlinkAttribute attribute;
    EXPECT_FALSE(reader.next(attribute));
    EXPECT_TRUE(reader.malformed());
}

TEST(NetlinkAttribute, TooShortANumberIsZeroAndTextNeedsNoEnd) {
    const std::uint8_t bytes[] = {'a', 'b'};
    const NetlinkAttribute attribute{1, bytes};
    EXPECT_EQ(attribute.u32(), 0u);
    EXPECT_EQ(attribute.text(), "ab");
    EXPECT_EQ(NetlinkAttribute{}.text(), "");
}

Bytes messages(std::initializer_list<std::uint32_t> lengths, std::size_t total) {
    Bytes bytes(total);
    std::size_t offset = 0;
    for (const auto length : lengths) {
        nlmsghdr header{};
        header.nlmsg_len = length;
        std::memcpy(bytes.data() + offset, &header, sizeof(header));
        offset += NLMSG_ALIGN(length);
    }
    return bytes;
}

TEST(ForEachMessage, StopsAtTheFirstThatIsNotWhole) {
    int count = 0;
    const auto visit = [&](const nlmsghdr&) { ++count; };
    EXPECT_TRUE(forEachMessage(messages({16, 20, 16}, 52), visit));
    EXPECT_EQ(count, 3);
    EXPECT_FALSE(forEachMessage(messages({16, 200}, 32), visit));
    EXPECT_EQ(count, 4);
    EXPECT_FALSE(forEachMessage(messages({16, 4}, 32), visit));
    EXPECT_EQ(count, 5);
    EXPECT_FALSE(forEachMessage(Bytes(7), visit));
    EXPECT_TRUE(forEachMessage({}, visit));
    EXPECT_EQ(count, 5);
}

}  // namespace
}  // namespace fastlet
