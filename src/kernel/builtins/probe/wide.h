// The numbers that wide.cl reads: for each type and each of three arguments a
// section of WIDE_SECTION bytes.
#ifndef HDI_BUILTINS_PROBE_WIDE_H
#define HDI_BUILTINS_PROBE_WIDE_H

enum {
    WIDE_char,
    WIDE_uchar,
    WIDE_short,
    WIDE_ushort,
    WIDE_int,
    WIDE_uint,
    WIDE_long,
    WIDE_ulong,
    WIDE_half,
    WIDE_float,
    WIDE_double,
    WIDE_TYPES,
    WIDE_ARGUMENTS = 3,
    WIDE_COUNT = 256, // numbers of a section
    WIDE_SECTION = 8 * WIDE_COUNT
};

#endif
