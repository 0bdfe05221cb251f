#!/usr/bin/env python3
"""Print polynomials.h: the polynomials of the math builtins.

Each interpolates a smooth quotient, such as (sin x - x) / x^3 as a function of
z = x^2, at the Chebyshev nodes of its interval, which is within a small factor
of the best approximation there is. Needs mpmath; run by hand, the result is
kept: `python3 polynomials.py > polynomials.h`.
"""
import struct

from mpmath import (asin, atan, cos, erf, erfc, exp, log, lu_solve, matrix, mp,
                    mpf, pi, sin, sqrt)

mp.dps = 80


def series(f, z):
    return f(z) if abs(z) > 1e-12 else f(mpf(10) ** -12)


def interpolate(f, low, high, count):
    nodes = [(low + high) / 2 + (high - low) / 2 *
             cos(pi * (2 * i + 1) / (2 * count)) for i in range(count)]
    a = matrix(count, count)
    b = matrix(count, 1)
    for i, x in enumerate(nodes):
        b[i] = series(f, x)
        for j in range(count):
            a[i, j] = x ** j
    return list(lu_solve(a, b))


def single(value):
    return struct.unpack("f", struct.pack("f", float(value)))[0]


def define(name, f, low, high, floats, doubles):
    for kind, count in (("F", floats), ("D", doubles)):
        if not count:
            continue
        c = interpolate(f, mpf(low), mpf(high), count)
        if kind == "F":
            text = [single(v).hex() + "f" for v in c]
        else:
            text = [float(v).hex() for v in c]
        print(f"#define {name}_{kind}(z) \\")
        out = text[-1]
        for t in reversed(text[:-1]):
            out = f"MAD({out}, z, {t})"
        line = "    "
        for word in out.split(" "):
            if len(line) + len(word) > 74:
                print(line.rstrip() + " \\")
                line = "    "
            line += word + " "
        print(line.rstrip())
        print()


print("// Made by polynomials.py: polynomials in Horner's form, lowest")
print("// coefficient last. MAD(a, b, c) is a * b + c, fused where that is fast.")
print("#ifndef HDI_BUILTINS_POLYNOMIALS_H")
print("#define HDI_BUILTINS_POLYNOMIALS_H")
print()
half = log(2) / 2 * mpf("1.001")
print("// (exp(z) - 1 - z) / z^2, |z| <= ln 2 / 2")
define("EXP", lambda z: (exp(z) - 1 - z) / z ** 2, -half, half, 5, 12)
print("// (log((1 + s) / (1 - s)) - 2s) / s^3, z = s^2, s <= (sqrt 2 - 1)^2")
define("LOG", lambda z: (log((1 + sqrt(z)) / (1 - sqrt(z))) - 2 * sqrt(z)) /
       sqrt(z) ** 3, 0, (sqrt(mpf(2)) - 1) ** 4, 4, 8)
print("// (log(1 + z) - z + z^2 / 2) / z^3, sqrt 1/2 - 1 <= z <= sqrt 2 - 1")
define("LOG1P", lambda z: (log(1 + z) - z + z * z / 2) / z ** 3,
       sqrt(mpf("0.5")) - 1, sqrt(mpf(2)) - 1, 8, 0)
quarter = (pi / 4) ** 2 * mpf("1.001")
print("// (sin(x) - x) / x^3 and (cos(x) - 1 + x^2 / 2) / x^4, z = x^2, "
      "x <= pi / 4")
define("SIN", lambda z: (sin(sqrt(z)) - sqrt(z)) / sqrt(z) ** 3, 0, quarter, 3,
       7)
define("COS", lambda z: (cos(sqrt(z)) - 1 + z / 2) / z ** 2, 0, quarter, 3, 7)
print("// (atan(x) - x) / x^3, z = x^2, x <= sqrt 2 - 1")
define("ATAN", lambda z: (atan(sqrt(z)) - sqrt(z)) / sqrt(z) ** 3, 0,
       (sqrt(mpf(2)) - 1) ** 2 * mpf("1.001"), 5, 13)
print("// (asin(x) - x) / x^3, z = x^2, x <= 1/2")
define("ASIN", lambda z: (asin(sqrt(z)) - sqrt(z)) / sqrt(z) ** 3, 0, 0.25, 6,
       14)

print("// erf(x) / x, z = x^2, x <= 1/2")
define("ERF", lambda z: erf(sqrt(z)) / sqrt(z), 0, 0.25, 0, 11)
print("// log(erfc(x) e^(x^2) / t), t = 2 / (2 + x), z = 2t - 1, x >= 0")


def erfc_parts(z):
    t = (z + 1) / 2
    x = 2 / t - 2
    return log(erfc(x) * exp(x * x) / t)


define("ERFC", erfc_parts, 2 / mpf(15) - 1, 1, 0, 28)


def split(name, value, bits):
    """As a sum of two doubles, the first of so many bits."""
    high = mpf(int(mp.floor(value * 2 ** bits))) / 2 ** bits
    print(f"#define {name}_HIGH {float(high).hex()}")
    print(f"#define {name}_LOW {float(value - high).hex()}")


print("// In two parts; the products of the first with an exponent are exact.")
split("LN2", log(2), 36)
split("LOG10_2", log(2) / log(10), 36)
split("LN2_F", log(2), 15)
split("LOG10_2_F", log(2) / log(10), 15)
print("// In two parts, the first the nearest double.")
for name, value in (("PI_2", pi / 2), ("LOG2_E", 1 / log(2)),
                    ("LOG10_E", 1 / log(10)), ("LN_10", log(10)),
                    ("ONE_PI", 1 / pi), ("TWO_THIRDS", mpf(2) / 3)):
    print(f"#define {name} {float(value).hex()}")
    print(f"#define {name}_REST {float(value - mpf(float(value))).hex()}")
print()
print("// The bits of 2 / pi behind the point.")
mp.dps = 500
bits = int(mp.floor(2 / mp.pi * mpf(2) ** (32 * 38)))
for i in range(38):
    print(f"#define TWO_PI_{i} 0x{bits >> 32 * (37 - i) & 0xffffffff:08x}u")
print()
print("#endif")
