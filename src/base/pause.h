// One round of a short wait, between two looks at what another core will write.
#ifndef HDI_BASE_PAUSE_H
#define HDI_BASE_PAUSE_H

static inline void hdi_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

#endif
