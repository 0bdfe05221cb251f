// First words: enough for a kernel that computes.
#define OVERLOAD __attribute__((overloadable))
float OVERLOAD sqrt(float x)
{
    return __builtin_elementwise_sqrt(x);
}
