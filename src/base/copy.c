/* Part of Windlass. See COPYRIGHT in the top-level directory. Long copies (copy.h). */
#include "base/copy.h"
#include "base/bypass.h"

static void by_detour(char *to, const char *from, size_t bytes)
{
    struct wdl_copy_room room;
    for (size_t done = 0; done < bytes; done += WDL_COPY_ROOM) {
        size_t n = bytes - done < WDL_COPY_ROOM ? bytes - done : WDL_COPY_ROOM;
        char *at = wdl_copy_room(&room, to + done);
        memcpy(at, from + done, n);
        memcpy(to + done, at, n);
    }
}

static void by_pieces(char *to, const char *from, size_t bytes)
{
    for (size_t done = 0; done < bytes; done += WDL_COPY_PIECE) {
        size_t n = bytes - done < WDL_COPY_PIECE ? bytes - done : WDL_COPY_PIECE;
        memcpy(to + done, from + done, n);
    }
}

void wdl_copy_by_string(void *to, const void *from, size_t bytes)
{
    if (!wdl_are_apart(to, from, bytes))
        memmove(to, from, bytes);
    else if (wdl_copy_is_slow(to, from))
        by_detour(to, from, bytes);
    else
        by_pieces(to, from, bytes);
}

#if defined(__x86_64__)
#include <immintrin.h>

enum { VECTOR = sizeof(__m256i), FOUR = 4 * VECTOR, STEP = 2 * FOUR };

__attribute__((target("avx2"))) static inline void one(char *to, const char *from)
{
    _mm256_storeu_si256((__m256i *) (void *) to,
                        _mm256_loadu_si256((const __m256i *) (const void *) from));
}

__attribute__((target("avx2"))) static inline void four(char *to, const char *from)
{
    const __m256i *of = (const __m256i *) (const void *) from;
    __m256i *at = (__m256i *) (void *) to;
    __m256i a = _mm256_loadu_si256(of), b = _mm256_loadu_si256(of + 1),
            c = _mm256_loadu_si256(of + 2), d = _mm256_loadu_si256(of + 3);
    _mm256_store_si256(at, a);
    _mm256_store_si256(at + 1, b);
    _mm256_store_si256(at + 2, c);
    _mm256_store_si256(at + 3, d);
}

/* Of a step and more: the first vector, then all from where the destination is aligned, then the
 * last ones, which may have been there before. */
__attribute__((target("avx2")))
static void vectors(char *to, const char *from, size_t bytes)
{
    one(to, from);
    size_t done = VECTOR - (uintptr_t) to % VECTOR;
    for (; done + STEP <= bytes; done += STEP) {
        four(to + done, from + done);
        four(to + done + FOUR, from + done + FOUR);
    }
    if (done + FOUR <= bytes)
        four(to + done, from + done);
    for (size_t at = bytes - FOUR; at < bytes; at += VECTOR)
        one(to + at, from + at);
}

void wdl_copy_by_vectors(void *to, const void *from, size_t bytes)
{
    if (!wdl_are_apart(to, from, bytes) || !__builtin_cpu_supports("avx2"))
        wdl_copy_by_string(to, from, bytes);
    else if (bytes >= WDL_COPY_VECTORS)
        wdl_bypass_stores(to, from, bytes);
    else
        vectors(to, from, bytes);
}

/* Intel's that have such vectors have a fast one. AMD's are told by an instruction that those with
 * the weaknesses do not have. */
static inline int string_is_better(const void *to, const void *from, size_t bytes, size_t least)
{
    if (__builtin_cpu_is("amd"))
        return bytes >= least && bytes < WDL_COPY_VECTORS &&
               __builtin_cpu_supports("avx512vp2intersect") && wdl_are_apart(to, from, bytes);
    return bytes - WDL_COPY_LONG <= WDL_COPY_ROOM - WDL_COPY_LONG && __builtin_cpu_is("intel") &&
           __builtin_cpu_supports("avx2") && wdl_are_apart(to, from, bytes) &&
           !wdl_copy_is_slow(to, from);
}

static inline void copy_long(void *to, const void *from, size_t bytes, size_t least)
{
    if (string_is_better(to, from, bytes, least))
        __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
    else if (__builtin_cpu_is("amd"))
        wdl_copy_by_vectors(to, from, bytes);
    else
        memmove(to, from, bytes);
}

void wdl_copy_long(void *to, const void *from, size_t bytes)
{
    copy_long(to, from, bytes, WDL_COPY_ROOM);
}

void wdl_copy_over(void *to, const void *from, size_t bytes)
{
    copy_long(to, from, bytes, WDL_COPY_LONG);
}

#else

void wdl_copy_by_vectors(void *to, const void *from, size_t bytes)
{
    wdl_copy_by_string(to, from, bytes);
}

void wdl_copy_long(void *to, const void *from, size_t bytes)
{
    memmove(to, from, bytes);
}

void wdl_copy_over(void *to, const void *from, size_t bytes)
{
    memmove(to, from, bytes);
}

#endif
