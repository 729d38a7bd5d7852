/* Fills every vector register and a tile of AMX, and says at the end whether they are still the same. */
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define REQUEST_PERMISSION 0x1023 /* asm/prctl.h: ARCH_REQ_XCOMP_PERM */
#define TILE_DATA 18

#define EACH(one)                                                                                                \
    one(0) one(1) one(2) one(3) one(4) one(5) one(6) one(7) one(8) one(9) one(10) one(11) one(12) one(13) one(14) \
        one(15) one(16) one(17) one(18) one(19) one(20) one(21) one(22) one(23) one(24) one(25) one(26) one(27)   \
            one(28) one(29) one(30) one(31)
#define LOAD(n) "vmovdqu64 " #n "*64(%0), %%zmm" #n "\n\t"
#define STORE(n) "vmovdqu64 %%zmm" #n ", " #n "*64(%0)\n\t"

static unsigned char given[32 * 64], found[32 * 64], tile[16 * 64], found_tile[16 * 64];
static struct {
    unsigned char palette, start_row, reserved[14];
    unsigned short row_bytes[16];
    unsigned char rows[16];
} shape = {.palette = 1, .row_bytes = {64}, .rows = {16}};

/* Whether the kernel lets this process use the tiles. */
int permitted(void) { return syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0; }

int kept(void) {
    for (int at = 0; at < sizeof given; at++) {
        given[at] = at * 7 + at / 64 + 1;
        tile[at % sizeof tile] = at * 5 + 3;
    }
    __asm__ volatile("ldtilecfg (%0)\n\ttileloadd (%1,%2,1), %%tmm0" ::"r"(&shape), "r"(tile), "r"(64L) : "memory");
    __asm__ volatile(EACH(LOAD)::"r"(given) : "memory");
    int stops = 1; /* a native stop: whole */
    stops++;
    stops++;
    __asm__ volatile(EACH(STORE)::"r"(found) : "memory");
    __asm__ volatile("tilestored %%tmm0, (%0,%1,1)\n\ttilerelease" ::"r"(found_tile), "r"(64L) : "memory");
    return memcmp(given, found, sizeof given) == 0 && memcmp(tile, found_tile, sizeof tile) == 0;
}
