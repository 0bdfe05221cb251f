// Made by polynomials.py: polynomials in Horner's form, lowest
// coefficient last. MAD(a, b, c) is a * b + c, fused where that is fast.
#ifndef HDI_BUILTINS_POLYNOMIALS_H
#define HDI_BUILTINS_POLYNOMIALS_H

// (exp(z) - 1 - z) / z^2, |z| <= ln 2 / 2
#define EXP_F(z)                                                          \
    MAD(MAD(MAD(MAD(0x1.6d117e0000000p-10f, z, 0x1.120be20000000p-7f), z, \
                0x1.5555180000000p-5f),                                   \
            z, 0x1.5554dc0000000p-3f),                                    \
        z, 0x1.0000000000000p-1f)

#define EXP_D(z)                                                          \
    MAD(MAD(MAD(MAD(MAD(MAD(MAD(MAD(MAD(MAD(MAD(0x1.61bff1c64f494p-33, z, \
                                                0x1.1f7f6aa421dd8p-29),   \
                                            z, 0x1.ae642c5c1fa33p-26),    \
                                        z, 0x1.27e4d3f50d87fp-22),        \
                                    z, 0x1.71de3a5aaefb9p-19),            \
                                z, 0x1.a01a01a9f72adp-16),                \
                            z, 0x1.a01a01a01969bp-13),                    \
                        z, 0x1.6c16c16c15a48p-10),                        \
                    z, 0x1.1111111111111p-7),                             \
                z, 0x1.5555555555557p-5),                                 \
            z, 0x1.5555555555555p-3),                                     \
        z, 0x1.0000000000000p-1)

// (log((1 + s) / (1 - s)) - 2s) / s^3, z = s^2, s <= (sqrt 2 - 1)^2
#define LOG_F(z)                                                     \
    MAD(MAD(MAD(0x1.ddced80000000p-3f, z, 0x1.245c440000000p-2f), z, \
            0x1.9999ec0000000p-2f),                                  \
        z, 0x1.5555560000000p-1f)

#define LOG_D(z)                                         \
    MAD(MAD(MAD(MAD(MAD(MAD(MAD(0x1.0c039c49989c6p-3, z, \
                                0x1.0fbe95d716020p-3),   \
                            z, 0x1.3b1c355a8f7a2p-3),    \
                        z, 0x1.745cf9048dd95p-3),        \
                    z, 0x1.c71c720159177p-3),            \
                z, 0x1.2492492476cccp-2),                \
            z, 0x1.9999999999a38p-2),                    \
        z, 0x1.5555555555555p-1)

// (log(1 + z) - z + z^2 / 2) / z^3, sqrt 1/2 - 1 <= z <= sqrt 2 - 1
#define LOG1P_F(z)                                         \
    MAD(MAD(MAD(MAD(MAD(MAD(MAD(-0x1.43b2460000000p-4f, z, \
                                0x1.02814e0000000p-3f),    \
                            z, -0x1.0a33ea0000000p-3f),    \
                        z, 0x1.231ce60000000p-3f),         \
                    z, -0x1.54d03e0000000p-3f),            \
                z, 0x1.999f140000000p-3f),                 \
            z, -0x1.0000ce0000000p-2f),                    \
        z, 0x1.5555540000000p-2f)

// (sin(x) - x) / x^3 and (cos(x) - 1 + x^2 / 2) / x^4, z = x^2, x <= pi / 4
#define SIN_F(z)                                                   \
    MAD(MAD(-0x1.9ac8560000000p-13f, z, 0x1.110c260000000p-7f), z, \
        -0x1.5555520000000p-3f)

#define SIN_D(z)                                                               \
    MAD(MAD(MAD(MAD(MAD(MAD(-0x1.ab16f5caa198ap-41, z, 0x1.61217d9252c03p-33), \
                        z, -0x1.ae645410e937bp-26),                            \
                    z, 0x1.71de3a545f836p-19),                                 \
                z, -0x1.a01a01a01992fp-13),                                    \
            z, 0x1.1111111111110p-7),                                          \
        z, -0x1.5555555555555p-3)

#define COS_F(z)                                                    \
    MAD(MAD(0x1.9bd7860000000p-16f, z, -0x1.6c12d00000000p-10f), z, \
        0x1.5555540000000p-5f)

#define COS_D(z)                                                               \
    MAD(MAD(MAD(MAD(MAD(MAD(0x1.ab779550c8d9bp-45, z, -0x1.9394b8bd50ae1p-37), \
                        z, 0x1.1eed8deac3dfep-29),                             \
                    z, -0x1.27e4fb77125c5p-22),                                \
                z, 0x1.a01a01a019d06p-16),                                     \
            z, -0x1.6c16c16c16c16p-10),                                        \
        z, 0x1.5555555555555p-5)

// (atan(x) - x) / x^3, z = x^2, x <= sqrt 2 - 1
#define ATAN_F(z)                                                         \
    MAD(MAD(MAD(MAD(-0x1.082f6c0000000p-4f, z, 0x1.b809900000000p-4f), z, \
                -0x1.241fe60000000p-3f),                                  \
            z, 0x1.99972e0000000p-3f),                                    \
        z, -0x1.5555540000000p-2f)

#define ATAN_D(z)                                                             \
    MAD(MAD(MAD(MAD(MAD(MAD(MAD(MAD(MAD(MAD(MAD(MAD(-0x1.c7a6bc6dde7f9p-7, z, \
                                                    0x1.f5ba271a2a8e8p-6),    \
                                                z, -0x1.5030c28013685p-5),    \
                                            z, 0x1.829a09d7f37d9p-5),         \
                                        z, -0x1.aebcad6415c5dp-5),            \
                                    z, 0x1.e1d8ddf459f4dp-5),                 \
                                z, -0x1.1110ce80547d7p-4),                    \
                            z, 0x1.3b13aea53b18fp-4),                         \
                        z, -0x1.745d173542f7ap-4),                            \
                    z, 0x1.c71c71c6dd2d8p-4),                                 \
                z, -0x1.24924924920a3p-3),                                    \
            z, 0x1.9999999999997p-3),                                         \
        z, -0x1.5555555555555p-2)

// (asin(x) - x) / x^3, z = x^2, x <= 1/2
#define ASIN_F(z)                                                            \
    MAD(MAD(MAD(MAD(MAD(0x1.13fed40000000p-5f, z, 0x1.18f91e0000000p-6f), z, \
                    0x1.fd8da20000000p-6f),                                  \
                z, 0x1.6d5bba0000000p-5f),                                   \
            z, 0x1.3334300000000p-4f),                                       \
        z, 0x1.5555540000000p-3f)

#define ASIN_D(z)                                                               \
                                                                                \
    MAD(MAD(MAD(MAD(MAD(MAD(MAD(MAD(MAD(MAD(MAD(MAD(MAD(0x1.e529c6fce9bb4p-6,   \
                                                        z,                      \
                                                        -0x1.3b416bb7d9257p-6), \
                                                    z, 0x1.406192d124629p-6),   \
                                                z, 0x1.8f193743418ffp-9),       \
                                            z, 0x1.31622469ce5adp-7),           \
                                        z, 0x1.3b49de7121487p-7),               \
                                    z, 0x1.7b027ee1dd585p-7),                   \
                                z, 0x1.c990ad3d8fdcap-7),                       \
                            z, 0x1.1c4efce23019fp-6),                           \
                        z, 0x1.6e8ba123e494cp-6),                               \
                    z, 0x1.f1c71c7a52ba3p-6),                                   \
                z, 0x1.6db6db6dac1e0p-5),                                       \
            z, 0x1.3333333333388p-4),                                           \
        z, 0x1.5555555555555p-3)

// erf(x) / x, z = x^2, x <= 1/2
#define ERF_D(z)                                                      \
    MAD(MAD(MAD(MAD(MAD(MAD(MAD(MAD(MAD(MAD(0x1.c60ae6747e9bcp-27, z, \
                                            -0x1.5d7686c510032p-23),  \
                                        z, 0x1.b9d19f664b4c1p-20),    \
                                    z, -0x1.f4d1cff2cac2fp-17),       \
                                z, 0x1.f9a324a327ab3p-14),            \
                            z, -0x1.c02db3f9d6c71p-11),               \
                        z, 0x1.565bcd0e5f5a0p-8),                     \
                    z, -0x1.b82ce312889f2p-6),                        \
                z, 0x1.ce2f21a042be0p-4),                             \
            z, -0x1.812746b0379e7p-2),                                \
        z, 0x1.20dd750429b6dp+0)

// log(erfc(x) e^(x^2) / t), t = 2 / (2 + x), z = 2t - 1, x >= 0
#define ERFC_D(z)                                                                                                                       \
                                                                                                                                        \
    MAD(MAD(MAD(MAD(MAD(MAD(MAD(MAD(MAD(MAD(MAD(MAD(MAD(MAD(MAD(MAD(MAD(MAD(MAD(MAD(MAD(MAD(MAD(MAD(MAD(MAD(MAD(-0x1.4d7f349a75f71p-30, \
                                                                                                                z,                      \
                                                                                                                0x1.7cf937362a32dp-29), \
                                                                                                            z,                          \
                                                                                                            0x1.1dc3a7f63ac25p-27),     \
                                                                                                        z,                              \
                                                                                                        -0x1.18eed53b4e4e2p-25),        \
                                                                                                    z,                                  \
                                                                                                    0x1.b3ea0b79231b9p-28),             \
                                                                                                z,                                      \
                                                                                                0x1.2a74aa2e8c1cep-23),                 \
                                                                                            z,                                          \
                                                                                            -0x1.105ad4e4f38c2p-22),                    \
                                                                                        z,                                              \
                                                                                        -0x1.41ec59e33b86cp-23),                        \
                                                                                    z,                                                  \
                                                                                    0x1.4fd5afbbe3fc5p-20),                             \
                                                                                z,                                                      \
                                                                                -0x1.59b3a00203a04p-20),                                \
                                                                            z,                                                          \
                                                                            -0x1.8b8775acbd111p-19),                                    \
                                                                        z,                                                              \
                                                                        0x1.1f9b95f726f5dp-17),                                         \
                                                                    z,                                                                  \
                                                                    0x1.251b903814b90p-23),                                             \
                                                                z,                                                                      \
                                                                -0x1.fa86881115a84p-16),                                                \
                                                            z,                                                                          \
                                                            0x1.0a4d9452b8967p-15),                                                     \
                                                        z,                                                                              \
                                                        0x1.2b7b37eff4bbbp-14),                                                         \
                                                    z,                                                                                  \
                                                    -0x1.6d8a476227f10p-13),                                                            \
                                                z, -0x1.892764e2f6d33p-14),                                                             \
                                            z, 0x1.6133a4437e581p-11),                                                                  \
                                        z, -0x1.32b3ad5e4b8f5p-13),                                                                     \
                                    z, -0x1.337867f93a006p-9),                                                                          \
                                z, 0x1.cd180867c7dd4p-10),                                                                              \
                            z, 0x1.212cf33f0ea32p-7),                                                                                   \
                        z, -0x1.43821ef9dc146p-7),                                                                                      \
                    z, -0x1.802b39089ab13p-5),                                                                                          \
                z, 0x1.83d61c52414a7p-5),                                                                                               \
            z, 0x1.5864b151b8570p-1),                                                                                                   \
        z, -0x1.57f564e956ebep-1)

// In two parts; the products of the first with an exponent are exact.
#define LN2_HIGH       0x1.62e42fefa0000p-1
#define LN2_LOW        0x1.cf79abc9e3b3ap-40
#define LOG10_2_HIGH   0x1.34413509c0000p-2
#define LOG10_2_LOW    0x1.bcff7988f895ap-37
#define LN2_F_HIGH     0x1.62e4000000000p-1
#define LN2_F_LOW      0x1.7f7d1cf79abcap-20
#define LOG10_2_F_HIGH 0x1.3440000000000p-2
#define LOG10_2_F_LOW  0x1.3509f79fef312p-18
// In two parts, the first the nearest double.
#define PI_2            0x1.921fb54442d18p+0
#define PI_2_REST       0x1.1a62633145c07p-54
#define LOG2_E          0x1.71547652b82fep+0
#define LOG2_E_REST     0x1.777d0ffda0d24p-56
#define LOG10_E         0x1.bcb7b1526e50ep-2
#define LOG10_E_REST    0x1.95355baaafad3p-57
#define LN_10           0x1.26bb1bbb55516p+1
#define LN_10_REST      -0x1.f48ad494ea3e9p-53
#define ONE_PI          0x1.45f306dc9c883p-2
#define ONE_PI_REST     -0x1.6b01ec5417056p-56
#define TWO_THIRDS      0x1.5555555555555p-1
#define TWO_THIRDS_REST 0x1.5555555555555p-55

// The bits of 2 / pi behind the point.
#define TWO_PI_0  0xa2f9836eu
#define TWO_PI_1  0x4e441529u
#define TWO_PI_2  0xfc2757d1u
#define TWO_PI_3  0xf534ddc0u
#define TWO_PI_4  0xdb629599u
#define TWO_PI_5  0x3c439041u
#define TWO_PI_6  0xfe5163abu
#define TWO_PI_7  0xdebbc561u
#define TWO_PI_8  0xb7246e3au
#define TWO_PI_9  0x424dd2e0u
#define TWO_PI_10 0x06492eeau
#define TWO_PI_11 0x09d1921cu
#define TWO_PI_12 0xfe1deb1cu
#define TWO_PI_13 0xb129a73eu
#define TWO_PI_14 0xe88235f5u
#define TWO_PI_15 0x2ebb4484u
#define TWO_PI_16 0xe99c7026u
#define TWO_PI_17 0xb45f7e41u
#define TWO_PI_18 0x3991d639u
#define TWO_PI_19 0x835339f4u
#define TWO_PI_20 0x9c845f8bu
#define TWO_PI_21 0xbdf9283bu
#define TWO_PI_22 0x1ff897ffu
#define TWO_PI_23 0xde05980fu
#define TWO_PI_24 0xef2f118bu
#define TWO_PI_25 0x5a0a6d1fu
#define TWO_PI_26 0x6d367ecfu
#define TWO_PI_27 0x27cb09b7u
#define TWO_PI_28 0x4f463f66u
#define TWO_PI_29 0x9e5fea2du
#define TWO_PI_30 0x7527bac7u
#define TWO_PI_31 0xebe5f17bu
#define TWO_PI_32 0x3d0739f7u
#define TWO_PI_33 0x8a5292eau
#define TWO_PI_34 0x6bfb5fb1u
#define TWO_PI_35 0x1f8d5d08u
#define TWO_PI_36 0x56033046u
#define TWO_PI_37 0xfc7b6babu

#endif
