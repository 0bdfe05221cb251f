// What the builtins share. Every function here ends up inlined in a loop over
// work-items, so none branches: a choice is a select.
#ifndef HDI_BUILTINS_BASE_H
#define HDI_BUILTINS_BASE_H

#define FN       static __attribute__((always_inline))
#define OVERLOAD __attribute__((overloadable, always_inline))

// X(n) for every vector width.
#define WIDTHS(X, ...) \
    X(2, __VA_ARGS__)  \
    X(3, __VA_ARGS__) X(4, __VA_ARGS__) X(8, __VA_ARGS__) X(16, __VA_ARGS__)

// Component by component: R f(T), R f(T, U), R f(T, U, V) of vectors from those
// of scalars. The loops are unrolled before anything is vectorised.
#define EACH_1(n, f, R, T)          \
    R##n OVERLOAD f(T##n a)         \
    {                               \
        R##n r;                     \
        for (int i = 0; i < n; i++) \
            r[i] = f(a[i]);         \
        return r;                   \
    }
#define EACH_2(n, f, R, T, U)       \
    R##n OVERLOAD f(T##n a, U##n b) \
    {                               \
        R##n r;                     \
        for (int i = 0; i < n; i++) \
            r[i] = f(a[i], b[i]);   \
        return r;                   \
    }
#define EACH_3(n, f, R, T, U, V)            \
    R##n OVERLOAD f(T##n a, U##n b, V##n c) \
    {                                       \
        R##n r;                             \
        for (int i = 0; i < n; i++)         \
            r[i] = f(a[i], b[i], c[i]);     \
        return r;                           \
    }
// The same with scalars for the last arguments.
#define LAST_2(n, f, T)          \
    T##n OVERLOAD f(T##n a, T b) \
    {                            \
        return f(a, (T##n)(b));  \
    }
#define LAST_3(n, f, T)                    \
    T##n OVERLOAD f(T##n a, T b, T c)      \
    {                                      \
        return f(a, (T##n)(b), (T##n)(c)); \
    }

#define INTEGERS(X)                                                        \
    X(char, uchar, char)                                                   \
    X(uchar, uchar, char) X(short, ushort, short) X(ushort, ushort, short) \
        X(int, uint, int) X(uint, uint, int) X(long, ulong, long)          \
            X(ulong, ulong, long)

#endif
