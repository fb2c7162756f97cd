// SPDX-License-Identifier: Apache-2.0
#include "linuxfp/coherence/vitals_reader.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "linuxfp/coherence/kallsyms.hpp"
#include "linuxfp/coherence/kernel_reader.hpp"

namespace fastlet::linuxfp {
namespace {

constexpr const char* kMapName = "fl_vitals_map";

class BpfVitalsReader final : public VitalsReader {
public:
    explicit BpfVitalsReader(KernelReader kernel) : kernel_(std::move(kernel)) { findTables(); }

    Result<fl_vitals> read() override {
        // Not in the run that met the new function: that one's reading puts everything on hold first.
        if (std::exchange(newFunctions_, false) && symbols_.noticeModules()) findTables();
        FASTLET_TRY(reading, run());
        noteFunctions(reading);
        return reading;
    }

private:
    Result<fl_vitals> run() {
        auto& reading = area().reading;
        std::memset(&reading, 0, sizeof(reading));
        FASTLET_CHECK(kernel_.run());
        if (!reading.jiffies)
            return Error::make("the kernel's state cannot be read: the types of this kernel do not lead to its network namespace",
                               "please report the kernel's version");
        return reading;
    }

    void findTables() {
        const auto addresses = symbols_.addresses(legacyTableFunctions());
        for (std::size_t i = 0; i < FL_TABLE_FUNCTIONS; ++i) area().table_functions[i] = i < addresses.size() ? addresses[i] : 0;
    }

    void noteFunctions(const fl_vitals& reading) {
        for (const auto& family : reading.nf)
            for (const auto& point : family)
                for (std::uint32_t i = 0; i < std::min<std::uint32_t>(point.count, FL_NF_MAX_HOOKS); ++i)
                    newFunctions_ |= functions_.insert(point.hooks[i].function).second;
    }

    [[nodiscard]] fl_vitals_area& area() const { return *static_cast<fl_vitals_area*>(kernel_.area()); }

    KernelReader kernel_;
    KernelSymbols symbols_;
    std::set<std::uint64_t> functions_;  ///< ever seen
    bool newFunctions_ = false;
};

}  // namespace

Result<std::unique_ptr<VitalsReader>> openVitalsReader() {
    FASTLET_TRY(kernel, KernelReader::open(vitalsObject(), kMapName, sizeof(fl_vitals_area)));
    auto reader = std::make_unique<BpfVitalsReader>(std::move(kernel));
    FASTLET_CHECK(reader->read());
    return std::unique_ptr<VitalsReader>(std::move(reader));
}

}  // namespace fastlet::linuxfp
