/* SPDX-License-Identifier: MIT */
/*
 * NVIDIA's exchange of registers among 32 work-items that follow each other, its lanes: no memory and no barrier. LANES is
 * defined where there is one, and OF_LANE(type) then defines of_lane(), which all items of a group call together.
 */
#ifdef __NV_CL_C_VERSION
#define LANES 32
/* The value of the item whose number differs by `mask`, below LANES. */
#define OF_LANE(type)                                                                            \
    static type of_lane(type value, uint mask) {                                                 \
        union {                                                                                  \
            type value;                                                                          \
            uint words[(sizeof(type) + 3) / 4];                                                  \
        } mine = {value}, other;                                                                 \
        _Pragma("unroll") for (uint i = 0; i < (sizeof(type) + 3) / 4; i++)                      \
            asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 31, 0xffffffff;"                        \
                         : "=r"(other.words[i])                                                  \
                         : "r"(mine.words[i]), "r"(mask));                                       \
        return other.value;                                                                      \
    }
/* The same of the lane `from`, and of the lane that is `apart` lanes before; one that has none gets its own. */
#define OF_LANE_AT(type) LANE_FUNCTION(type, of_lane_at, "idx", 31)
#define OF_LANE_BEFORE(type) LANE_FUNCTION(type, of_lane_before, "up", 0)
#define LANE_FUNCTION(type, name, mode, last)                                                    \
    static type name(type value, uint lane) {                                                    \
        union {                                                                                  \
            type value;                                                                          \
            uint words[(sizeof(type) + 3) / 4];                                                  \
        } mine = {value}, other;                                                                 \
        _Pragma("unroll") for (uint i = 0; i < (sizeof(type) + 3) / 4; i++)                      \
            asm volatile("shfl.sync." mode ".b32 %0, %1, %2, %3, 0xffffffff;"                    \
                         : "=r"(other.words[i])                                                  \
                         : "r"(mine.words[i]), "r"(lane), "n"(last));                            \
        return other.value;                                                                      \
    }

/* Whether it is so for any lane. */
static bool lanes_any(bool is_so) {
    uint any;
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; vote.sync.any.pred p, p, 0xffffffff; "
                 "selp.u32 %0, 1, 0, p; }"
                 : "=r"(any)
                 : "r"((uint)is_so));
    return any;
}
#endif
