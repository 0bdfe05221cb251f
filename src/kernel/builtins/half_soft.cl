// What the code generator calls for halves where the processor has no
// instructions for them.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

float __extendhfsf2(half x)
{
    ushort bits = as_ushort(x);
    uint sign = (uint)(bits & 0x8000) << 16, digits = bits & 0x3ff;
    uint exponent = bits >> 10 & 31;

    if (exponent == 31)
        return as_float(sign | 0x7f800000 | digits << 13 |
                        (digits ? 0x400000 : 0));
    if (exponent == 0) // all digits of these fit a float
        return as_float(sign | as_uint((float)digits * 0x1p-24f));
    return as_float(sign | (exponent + 112) << 23 | digits << 13);
}

// To nearest, ties to even.
half __truncdfhf2(double x)
{
    ulong bits = as_ulong(x), most = bits & 0x7fffffffffffffffUL;
    ushort sign = (ushort)(bits >> 48 & 0x8000);
    int exponent = (int)(most >> 52) - 1023;

    if (most > 0x7ff0000000000000UL)
        return as_half((ushort)(sign | 0x7e00 | (most >> 42 & 0x3ff)));
    if (most >= as_ulong(65520.0))
        return as_half((ushort)(sign | 0x7c00));
    if (most <= as_ulong(0x1p-25))
        return as_half(sign);
    ulong digits = (most & 0xfffffffffffffUL) | 0x10000000000000UL;
    int drop = exponent >= -14 ? 42 : 28 - exponent;
    ulong kept = digits >> drop, rest = digits & ((1UL << drop) - 1);
    ulong middle = 1UL << (drop - 1);
    kept += rest > middle || (rest == middle && (kept & 1));
    // The first digit, which is not written, adds one to the exponent.
    if (exponent >= -14)
        kept += (ulong)(exponent + 14) << 10;
    return as_half((ushort)(sign | (ushort)kept));
}

half __truncsfhf2(float x)
{
    return __truncdfhf2((double)x);
}
