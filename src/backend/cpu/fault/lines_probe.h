#ifndef HDI_BACKEND_CPU_LINES_PROBE_H
#define HDI_BACKEND_CPU_LINES_PROBE_H

int hdi_probe_first(int a);
int hdi_probe_second(int a);

#endif
