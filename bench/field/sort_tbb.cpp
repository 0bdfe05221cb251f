// The keys of sort.c, sorted by oneTBB: prints the median time of three [ms].
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <tbb/parallel_for.h>
#include <tbb/parallel_sort.h>
#include <vector>

int main(int, char **words)
{
    size_t count = std::strtoull(words[1], nullptr, 10);
    std::vector<uint64_t> keys(count);
    double times[3];

    for (double &time : times) {
        tbb::parallel_for(size_t(0), count, [&](size_t i) {
            uint64_t v = (i + 1) * 0x9e3779b97f4a7c15u;

            v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9u;
            v = (v ^ v >> 27) * 0x94d049bb133111ebu;
            keys[i] = v ^ v >> 31;
        });
        auto begin = std::chrono::steady_clock::now();
        tbb::parallel_sort(keys.begin(), keys.end());
        time = std::chrono::duration<double, std::milli>(
                   std::chrono::steady_clock::now() - begin)
                   .count();
    }
    std::sort(times, times + 3);
    std::printf("%.3f\n", times[1]);
}
