// SPDX-License-Identifier: Apache-2.0
#include "core/ports/netlink_message.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace fastlet
