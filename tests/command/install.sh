# What is installed works from outside: the command, pkg-config, find_package.
. "$(dirname "$0")/common.sh"
[ -z "$SANITIZE" ] || skip "a library with $SANITIZE links into nothing else"

"$CMAKE" --install "$BUILD" --prefix "$folder/prefix" >log 2>&1 || {
    cat log >&2
    fail "cmake --install failed"
}

# Run a program; all of Heddle that it loads comes from folder $1. The C library
# tells what it loads; one that does not makes this check pass.
loads_from() {
    where=$1
    shift
    rm -rf loaded.* caches
    expect 0 "" env LD_DEBUG=files LD_DEBUG_OUTPUT="$folder/loaded" "$@"
    others=$(cat loaded.* 2>/dev/null | grep 'calling init:.*heddle' |
        grep -vF -e "$where/")
    [ -z "$others" ] || fail "$1: loads from elsewhere: $others"
}

# Moved afterwards, the command still finds its library.
mv prefix moved
loads_from "$folder/moved" "$folder/moved/bin/heddle" info
mv moved prefix
[ -f prefix/share/man/man1/heddle.1 ] || fail "no man page was installed"

# The file that loaders read names the driver where it is now.
if [ -f "$BUILD/lib/libheddle-opencl.so" ]; then
    icd=prefix/etc/OpenCL/vendors/heddle.icd
    [ -f "$icd" ] || fail "no heddle.icd was installed"
    [ -f "$(cat "$icd")" ] || fail "heddle.icd names no file: $(cat "$icd")"
    if command -v clinfo >/dev/null; then
        expect 0 "" env OCL_ICD_VENDORS="$folder/$icd" clinfo -l
        said "Heddle"
        expect 0 "" "$folder/prefix/bin/heddle" cl -- clinfo -l
        said "Heddle"
    fi
fi

pc=$(find prefix -name heddle.pc)
[ -n "$pc" ] || fail "no heddle.pc was installed"
library=$folder/$(dirname "$(dirname "$pc")")

runs() {
    if has has_compiler; then
        loads_from "$folder/prefix" env LD_LIBRARY_PATH="$library" "$1"
        said "squares is"
        said "right"
    else
        expect 1 "hello: " env LD_LIBRARY_PATH="$library" "$1"
    fi
}

PKG_CONFIG_PATH=$library/pkgconfig
export PKG_CONFIG_PATH
if command -v pkg-config >/dev/null; then
    # shellcheck disable=SC2046
    "$CC" -std=c11 -Wall -Wextra -Wpedantic -Werror \
        "$SOURCE/examples/hello/hello.c" \
        $(pkg-config --cflags --libs heddle) -o hello-pkg-config ||
        fail "hello.c does not build through pkg-config"
    runs ./hello-pkg-config
else
    echo "note: pkg-config is not there; not tried"
fi

{
    "$CMAKE" -G Ninja -S "$SOURCE/examples/hello" -B project \
        -DCMAKE_C_COMPILER="$CC" -DCMAKE_PREFIX_PATH="$folder/prefix" &&
        "$CMAKE" --build project
} >log 2>&1 || {
    cat log >&2
    fail "hello.c does not build through find_package(heddle)"
}
runs ./project/hello

# The headers and their macros are C++, too.
cat >user.cpp <<'END'
#include <heddle/heddle.h>

HD_TASK(int, twice, int, n)
{
    return 2 * n;
}

static inline int plus(int a, int b)
{
    return a + b;
}

HD_GATHER(int, plus, 0, i, sum, int, unused)
{
    (void)unused;
    return (int)i + hd_call(worker, twice, 1);
}

static void begin(struct hd_worker *worker, void *result)
{
    hd_spawn(worker, twice, 2);
    *static_cast<int *>(result) =
        hd_gather(worker, sum, 0, 3, 0) + hd_join(worker, twice);
}

hd_status launch(struct hd_runtime *runtime, const struct hd_kernel *kernel,
                 struct hd_buffer *buffer, struct hd_image *image)
{
    int n = 0;
    hd_pool_run(hd_runtime_pool(runtime), begin, &n);
    struct hd_arg args[] = {HD_VALUE(n), HD_BUFFER(buffer), HD_LOCAL(16),
                            HD_IMAGE(image), HD_SAMPLER(HD_FILTER_LINEAR)};
    struct hd_range range = {};
    struct hd_command copy = {};
    copy.is = HD_COPY;
    (void)copy;
    return hd_launch(runtime, kernel, &range, args, 5, nullptr);
}
END
found=
for cxx in g++ clang++-19 clang++; do
    command -v "$cxx" >/dev/null || continue
    found=1
    "$cxx" -std=c++20 -Wall -Wpedantic -Werror -fsyntax-only -I prefix/include \
        user.cpp || fail "the headers are no C++ for $cxx"
done
[ -n "$found" ] || echo "note: there is no C++ compiler; not tried"
