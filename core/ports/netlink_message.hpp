// SPDX-License-Identifier: Apache-2.0
// Reading and writing netlink attributes. Every length comes from outside this process and is checked before it is used.
#pragma once

#include <linux/netlink.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/ports/netlink.hpp"

namespace fastlet {

using ByteView = std::span<const std::uint8_t>;

/// A plain struct from the start of `bytes`; all zero when there are too few.
template <class T>
[[nodiscard]] T readStruct(ByteView bytes) {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    if (bytes.size() >= sizeof(T)) std::memcpy(&value, bytes.data(), sizeof(T));
    return value;
}

struct NetlinkAttribute {
    std::uint16_t type = 0;  ///< without the flags NLA_F_NESTED and NLA_F_NET_BYTEORDER
    ByteView value;

    [[nodiscard]] std::uint8_t u8() const { return readStruct<std::uint8_t>(value); }
    [[nodiscard]] std::uint16_t u16() const { return readStruct<std::uint16_t>(value); }
    [[nodiscard]] std::uint32_t u32() const { return readStruct<std::uint32_t>(value); }
    [[nodiscard]] std::uint64_t u64() const { return readStruct<std::uint64_t>(value); }
    /// nf_tables sends numbers in network order.
    [[nodiscard]] std::uint32_t be32() const { return __builtin_bswap32(u32()); }
    [[nodiscard]] std::string_view text() const {
        const auto* begin = reinterpret_cast<const char*>(value.data());
        return {begin, value.empty() ? 0 : ::strnlen(begin, value.size())};
    }
};

/// Walks through a run of attributes: while (reader.next(attribute)) ...; afterwards malformed() says whether it ended early.
class NetlinkAttributeReader {
public:
    explicit NetlinkAttributeReader(ByteView bytes)
        : at_(reinterpret_cast<const nlattr*>(bytes.data())), left_(static_cast<int>(bytes.size())) {}

    bool next(NetlinkAttribute& attribute);
    /// After next() has returned false.
    [[nodiscard]] bool malformed() const { return left_ > 0; }

private:
    const nlattr* at_;
    int left_;  ///< bytes; below 0 after a last attribute without its padding
};

/// What follows the nlmsghdr.
[[nodiscard]] inline ByteView netlinkPayload(const nlmsghdr& message) {
    if (message.nlmsg_len < NLMSG_HDRLEN) return {};
    return {reinterpret_cast<const std::uint8_t*>(&message) + NLMSG_HDRLEN, message.nlmsg_len - NLMSG_HDRLEN};
}

/// The attributes that follow the family's own header of `headerSize` bytes.
[[nodiscard]] inline ByteView netlinkAttributes(const nlmsghdr& message, std::size_t headerSize) {
    const auto payload = netlinkPayload(message);
    return payload.subspan(std::min<std::size_t>(NLMSG_ALIGN(headerSize), payload.size()));
}

/// Builds a payload: the family's own header, then attributes.
class NetlinkWriter {
public:
    NetlinkWriter() = default;
    template <class Header>
    explicit NetlinkWriter(const Header& header) {
        static_assert(std::is_trivially_copyable_v<Header>);
        append({reinterpret_cast<const std::uint8_t*>(&header), sizeof(header)});
    }

    NetlinkWriter& attribute(std::uint16_t type, ByteView value) {
        const nlattr header{static_cast<std::uint16_t>(NLA_HDRLEN + value.size()), type};
        append({reinterpret_cast<const std::uint8_t*>(&header), sizeof(header)});
        append(value);
        return *this;
    }
    template <class T>
    NetlinkWriter& number(std::uint16_t type, const T& value) {
        static_assert(std::is_trivially_copyable_v<T>);
        return attribute(type, {reinterpret_cast<const std::uint8_t*>(&value), sizeof(value)});
    }
    NetlinkWriter& text(std::uint16_t type, const std::string& value) {
        return attribute(type, {reinterpret_cast<const std::uint8_t*>(value.c_str()), value.size() + 1});
    }
    NetlinkWriter& nested(std::uint16_t type, const NetlinkWriter& inner) { return attribute(type | NLA_F_NESTED, inner.bytes_); }

    [[nodiscard]] const Bytes& bytes() const { return bytes_; }

private:
    void append(ByteView value) {
        bytes_.insert(bytes_.end(), value.begin(), value.end());
        bytes_.resize(NLMSG_ALIGN(bytes_.size()));
    }
    Bytes bytes_;
};

}  // namespace fastlet
