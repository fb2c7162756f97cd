// SPDX-License-Identifier: Apache-2.0
#include <linux/if_ether.h>

#include <sstream>

#include "linuxfp/introspect/parsers.hpp"

namespace fastlet::linuxfp {

PacketSockets parsePacketSockets(const std::string& table) {
    PacketSockets sockets;
    std::istringstream lines(table);
    std::string line;
    std::getline(lines, line);  // headings: sk RefCnt Type Proto Iface R Rmem User Inode
    while (std::getline(lines, line)) {
        std::istringstream fields(line);
        std::string socket;
        std::string references;
        std::string type;
        unsigned protocol = 0;
        std::uint32_t ifindex = 0;
        int running = 0;
        fields >> socket >> references >> type >> std::hex >> protocol >> std::dec >> ifindex >> running;
        const bool sees = protocol == ETH_P_ALL || protocol == ETH_P_IP || protocol == ETH_P_IPV6;
        if (fields.fail()) {
            sockets.all = sockets.all || !line.empty();  // another format than this program knows: be careful
        } else if (sees && running) {
            if (ifindex)
                sockets.interfaces.insert(ifindex);
            else
                sockets.all = true;
        }
    }
    return sockets;
}

}  // namespace fastlet::linuxfp
