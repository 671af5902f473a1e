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
#endif
