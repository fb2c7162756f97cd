// SPDX-License-Identifier: Apache-2.0
#include "linuxfp/synth/objects.hpp"

extern "C" {
extern const unsigned char fl_object_forward_xdp[], fl_object_forward_xdp_end[];
extern const unsigned char fl_object_forward_tc[], fl_object_forward_tc_end[];
extern const unsigned char fl_object_vitals[], fl_object_vitals_end[];
extern const unsigned char fl_object_rx_handlers[], fl_object_rx_handlers_end[];
}

namespace fastlet::linuxfp {

ObjectBytes forwardXdpObject() { return {fl_object_forward_xdp, fl_object_forward_xdp_end}; }
ObjectBytes forwardTcObject() { return {fl_object_forward_tc, fl_object_forward_tc_end}; }
ObjectBytes vitalsObject() { return {fl_object_vitals, fl_object_vitals_end}; }
ObjectBytes rxHandlersObject() { return {fl_object_rx_handlers, fl_object_rx_handlers_end}; }

}  // namespace fastlet::linuxfp
