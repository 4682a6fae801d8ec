// Fake libnvidia-ml.so.1: emulates N GPUs from a mmap'ed state file (live-mutable), for tests on GPU-less machines.
// env: FAKE_NVML_STATE=/path/state.bin (created by fakestate.py) or FAKE_NVML_N=4 for a static default.
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <unistd.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#define MAXG 16
#define MAXP 16
typedef struct { uint32_t pid; uint32_t sm_util; uint64_t used; } proc_t;
#define MAXM 7
#define MAXE 64
typedef struct { char uuid[96], name[96]; uint64_t mem_total, mem_used; uint32_t instance, pad; } mig_t; // a MIG device of a card
typedef struct {
  char name[96], uuid[96], serial[32], busid[32];
  uint64_t mem_total, mem_used, cpumask;
  uint32_t util_gpu, util_mem, temp, fan, power_mw, limit_mw, min_mw, max_mw, numa, lost, nproc, nvlinks;
  proc_t procs[MAXP];
  uint64_t ecc; // uncorrectable errors
  uint32_t unsupported, delay_ms; // bit 0: utilization, 1: power, 2: temperature, 3: PCIe, 4: NVLink counters, 5: events; how long every answer takes
  uint32_t pcie_tx_kib, pcie_rx_kib; // KiB a second, as NVML says it
  uint64_t nvlink_tx_kib, nvlink_rx_kib; // KiB so far, over all links
  uint32_t pcie_delay_ms, nmig; // how long the PCIe counter takes besides; MIG devices (0: MIG is off)
  mig_t mig[MAXM];
} gpu_t;
typedef struct { uint32_t gpu, instance; uint64_t xid; } event_t;
typedef struct { uint32_t magic, version, n, cc_major, cc_minor, nevents; gpu_t g[MAXG]; event_t e[MAXE]; } state_t; // nevents: XID errors so far
static state_t *S; static int inited;
static void defaults(state_t *s) {
  const char *e = getenv("FAKE_NVML_N"); uint32_t n = e ? atoi(e) : 4; if (n > MAXG) n = MAXG;
  memset(s, 0, sizeof *s); s->magic = 0x4e564d4c; s->version = 1; s->n = n; s->cc_major = 9; s->cc_minor = 0;
  long nc = sysconf(_SC_NPROCESSORS_ONLN); uint64_t m = nc >= 64 ? ~0ull : ((1ull << nc) - 1);
  for (uint32_t i = 0; i < n; i++) { gpu_t *g = &s->g[i];
    snprintf(g->name, 96, "NVIDIA Fake H100 80GB"); snprintf(g->uuid, 96, "GPU-%08x-fa4e-4000-8000-%012x", 0xfa4e0000u + i, i);
    snprintf(g->serial, 32, "FAKE%04u", i); snprintf(g->busid, 32, "00000000:%02X:00.0", 0x10 + i);
    g->mem_total = 80ull << 30; g->mem_used = 512ull << 20; g->cpumask = m; g->temp = 35 + i; g->power_mw = 70000;
    g->limit_mw = 700000; g->min_mw = 200000; g->max_mw = 700000; g->numa = i / 4; g->nvlinks = 18; } }
static state_t *st(void) {
  if (S) return S;
  const char *p = getenv("FAKE_NVML_STATE");
  if (p) { int fd = open(p, O_RDWR); int ro = fd < 0; if (ro) fd = open(p, O_RDONLY);
    if (fd >= 0) { void *m = mmap(0, sizeof(state_t), ro ? PROT_READ : PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0); close(fd);
      if (m != MAP_FAILED && ((state_t *)m)->magic == 0x4e564d4c) return S = m; } }
  static state_t d; defaults(&d); return S = &d; }
typedef gpu_t *dev; typedef int R;
#define OK 0
#define UNINIT 1
#define INVAL 2
#define NOTSUP 3
#define NOPERM 4
#define NOTFOUND 6
#define SMALL 7
#define LOST 15
#define A __attribute__((visibility("default")))
// A handle is the address of a card or of one of its MIG devices; after D, `d` is the card and `M_d` the MIG device or 0.
static dev card(dev d, mig_t **m) { char *a = (char *)d, *b = (char *)st()->g; if (a < b || a >= (char *)(st()->g + st()->n)) return 0;
  dev g = &st()->g[(a - b) / sizeof(gpu_t)]; *m = d == g ? 0 : (mig_t *)d; return g; }
#define D(d) if (!inited) return UNINIT; mig_t *M_##d = 0; if (!(d = card(d, &M_##d))) return INVAL; if ((d)->delay_ms) usleep((d)->delay_ms * 1000); if ((d)->lost) return LOST;
#define U(d, bit) if (M_##d || (d)->unsupported & (1u << bit)) return NOTSUP;
static R cp(char *dst, unsigned len, const char *s) { if (strlen(s) + 1 > len) return SMALL; strcpy(dst, s); return OK; }
A R nvmlInitWithFlags(unsigned f) { (void)f; st(); inited++; return OK; }
A R nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
A R nvmlInit(void) { return nvmlInitWithFlags(0); }
A R nvmlShutdown(void) { if (!inited) return UNINIT; inited--; return OK; }
A const char *nvmlErrorString(R r) { static const char *t[] = {"Success","Uninitialized","Invalid Argument","Not Supported","Insufficient Permissions","Already Initialized","Not Found","Insufficient Size"}; return r >= 0 && r < 8 ? t[r] : r == LOST ? "GPU is lost" : "Unknown Error"; }
A R nvmlSystemGetDriverVersion(char *v, unsigned n) { return cp(v, n, "580.65.06"); }
A R nvmlSystemGetNVMLVersion(char *v, unsigned n) { return cp(v, n, "13.580.65.06"); }
A R nvmlSystemGetCudaDriverVersion_v2(int *v) { *v = 13000; return OK; }
A R nvmlSystemGetCudaDriverVersion(int *v) { *v = 13000; return OK; }
A R nvmlSystemGetProcessName(unsigned pid, char *b, unsigned n) { char p[64]; snprintf(p, 64, "/proc/%u/comm", pid); FILE *f = fopen(p, "r"); if (!f) return NOTFOUND; if (!fgets(b, n, f)) b[0] = 0; fclose(f); b[strcspn(b, "\n")] = 0; return OK; }
A R nvmlDeviceGetCount_v2(unsigned *n) { if (!inited) return UNINIT; *n = st()->n; return OK; }
A R nvmlDeviceGetHandleByIndex_v2(unsigned i, dev *d) { if (!inited) return UNINIT; if (i >= st()->n) return INVAL; *d = &st()->g[i]; if ((*d)->lost) return LOST; return OK; }
A R nvmlDeviceGetHandleByUUID(const char *u, dev *d) { if (!inited) return UNINIT; for (unsigned i = 0; i < st()->n; i++) { dev g = &st()->g[i]; if (!strcmp(u, g->uuid)) { *d = g; return OK; } for (unsigned k = 0; k < g->nmig; k++) if (!strcmp(u, g->mig[k].uuid)) { *d = (dev)&g->mig[k]; return OK; } } return NOTFOUND; }
A R nvmlDeviceGetHandleByPciBusId_v2(const char *u, dev *d) { for (unsigned i = 0; i < st()->n; i++) if (!strcasecmp(u, st()->g[i].busid)) { *d = &st()->g[i]; return OK; } return NOTFOUND; }
A R nvmlDeviceGetIndex(dev d, unsigned *i) { D(d) *i = d - st()->g; return OK; }
A R nvmlDeviceGetMinorNumber(dev d, unsigned *i) { D(d) *i = d - st()->g; return OK; }
A R nvmlDeviceGetName(dev d, char *b, unsigned n) { D(d) return cp(b, n, M_d ? M_d->name : d->name); }
A R nvmlDeviceGetUUID(dev d, char *b, unsigned n) { D(d) return cp(b, n, M_d ? M_d->uuid : d->uuid); }
A R nvmlDeviceGetSerial(dev d, char *b, unsigned n) { D(d) return cp(b, n, d->serial); }
A R nvmlDeviceGetMemoryInfo(dev d, uint64_t *m) { D(d) m[0] = M_d ? M_d->mem_total : d->mem_total; m[2] = M_d ? M_d->mem_used : d->mem_used; m[1] = m[0] - m[2]; return OK; }
typedef struct { unsigned version; uint64_t total, reserved, free, used; } mem2;
A R nvmlDeviceGetMemoryInfo_v2(dev d, mem2 *m) { D(d) m->total = M_d ? M_d->mem_total : d->mem_total; m->used = M_d ? M_d->mem_used : d->mem_used; m->reserved = 0; m->free = m->total - m->used; return OK; }
A R nvmlDeviceGetBAR1MemoryInfo(dev d, uint64_t *m) { D(d) m[0] = 128ull << 30; m[2] = 1 << 20; m[1] = m[0] - m[2]; return OK; }
A R nvmlDeviceGetUtilizationRates(dev d, unsigned *u) { D(d) U(d, 0) u[0] = d->util_gpu; u[1] = d->util_mem; return OK; }
A R nvmlDeviceGetEncoderUtilization(dev d, unsigned *u, unsigned *p) { D(d) *u = 0; *p = 167000; return OK; }
A R nvmlDeviceGetDecoderUtilization(dev d, unsigned *u, unsigned *p) { D(d) *u = 0; *p = 167000; return OK; }
A R nvmlDeviceGetTemperature(dev d, int s, unsigned *t) { D(d) U(d, 2) (void)s; *t = d->temp; return OK; }
typedef struct { unsigned version; int sensor; int temperature; } tempv;
A R nvmlDeviceGetTemperatureV(dev d, tempv *t) { D(d) t->temperature = d->temp; return OK; }
A R nvmlDeviceGetFanSpeed(dev d, unsigned *f) { D(d) if (!d->fan) return NOTSUP; *f = d->fan; return OK; }
A R nvmlDeviceGetPowerUsage(dev d, unsigned *p) { D(d) U(d, 1) *p = d->power_mw; return OK; }
A R nvmlDeviceGetEnforcedPowerLimit(dev d, unsigned *p) { D(d) *p = d->limit_mw; return OK; }
A R nvmlDeviceGetPowerManagementLimit(dev d, unsigned *p) { D(d) *p = d->limit_mw; return OK; }
A R nvmlDeviceGetPowerManagementDefaultLimit(dev d, unsigned *p) { D(d) *p = d->max_mw; return OK; }
A R nvmlDeviceGetPowerManagementLimitConstraints(dev d, unsigned *a, unsigned *b) { D(d) *a = d->min_mw; *b = d->max_mw; return OK; }
A R nvmlDeviceSetPowerManagementLimit(dev d, unsigned p) { D(d) if (geteuid()) return NOPERM; if (p < d->min_mw || p > d->max_mw) return INVAL; d->limit_mw = p; return OK; }
A R nvmlDeviceGetTotalEnergyConsumption(dev d, uint64_t *e) { D(d) struct { long s, n; } t; (void)t; *e = (uint64_t)d->power_mw * 1000; return OK; }
A R nvmlDeviceGetPerformanceState(dev d, int *p) { D(d) *p = 0; return OK; }
A R nvmlDeviceGetPersistenceMode(dev d, int *p) { D(d) *p = 1; return OK; }
A R nvmlDeviceGetDisplayActive(dev d, int *p) { D(d) *p = 0; return OK; }
A R nvmlDeviceGetDisplayMode(dev d, int *p) { D(d) *p = 0; return OK; }
A R nvmlDeviceGetComputeMode(dev d, int *p) { D(d) *p = 0; return OK; }
A R nvmlDeviceGetTotalEccErrors(dev d, int t, int c, uint64_t *e) { D(d) (void)c; *e = t == 1 ? d->ecc : 0; return OK; }
A R nvmlDeviceGetClockInfo(dev d, int t, unsigned *c) { D(d) (void)t; *c = 1200; return OK; }
A R nvmlDeviceGetMaxClockInfo(dev d, int t, unsigned *c) { D(d) (void)t; *c = 1980; return OK; }
A R nvmlDeviceGetPcieThroughput(dev d, int t, unsigned *c) { D(d) U(d, 3) if (d->pcie_delay_ms) usleep(d->pcie_delay_ms * 1000); *c = t ? d->pcie_rx_kib : d->pcie_tx_kib; return OK; }
A R nvmlDeviceGetCudaComputeCapability(dev d, int *a, int *b) { D(d) *a = st()->cc_major; *b = st()->cc_minor; return OK; }
A R nvmlDeviceGetMigMode(dev d, unsigned *c, unsigned *p) { D(d) if (M_d) return NOTSUP; *c = *p = d->nmig > 0; return OK; }
A R nvmlDeviceGetMaxMigDeviceCount(dev d, unsigned *n) { D(d) *n = d->nmig ? MAXM : 0; return OK; }
A R nvmlDeviceIsMigDeviceHandle(dev d, unsigned *m) { D(d) *m = M_d != 0; return OK; }
A R nvmlDeviceGetMigDeviceHandleByIndex(dev d, unsigned i, dev *m) { D(d) if (M_d) return INVAL; if (i >= d->nmig) return NOTFOUND; *m = (dev)&d->mig[i]; return OK; }
A R nvmlDeviceGetGpuInstanceId(dev d, unsigned *i) { D(d) if (!M_d) return NOTSUP; *i = M_d->instance; return OK; }
A R nvmlDeviceGetComputeInstanceId(dev d, unsigned *i) { D(d) if (!M_d) return NOTSUP; *i = 0; return OK; }
A R nvmlDeviceGetDeviceHandleFromMigDeviceHandle(dev d, dev *m) { D(d) if (!M_d) return INVAL; *m = d; return OK; }
A R nvmlDeviceGetCpuAffinity(dev d, unsigned n, unsigned long *set) { D(d) memset(set, 0, n * 8); if (n) set[0] = d->cpumask; return OK; }
A R nvmlDeviceGetMemoryAffinity(dev d, unsigned n, unsigned long *set, int scope) { D(d) (void)scope; memset(set, 0, n * 8); if (n) set[0] = 1ul << d->numa; return OK; }
typedef struct { char legacy[16]; unsigned domain, bus, device, devid, subid; char busid[32]; } pci;
static void fpci(dev d, pci *p) { memset(p, 0, sizeof *p); p->bus = 0x10 + (d - st()->g); p->devid = 0x233010DE; strcpy(p->busid, d->busid); memcpy(p->legacy, d->busid + 4, 12); }
A R nvmlDeviceGetPciInfo_v3(dev d, pci *p) { D(d) fpci(d, p); return OK; }
A R nvmlDeviceGetTopologyCommonAncestor(dev a, dev b, int *l) { D(a) D(b) *l = a == b ? 0 : a->numa == b->numa ? 40 /*NODE*/ : 50 /*SYSTEM*/; return OK; }
A R nvmlDeviceGetNvLinkState(dev d, unsigned l, int *s) { D(d) if (l >= 18) return INVAL; *s = l < d->nvlinks; return OK; }
A R nvmlDeviceGetNvLinkVersion(dev d, unsigned l, unsigned *v) { D(d) if (l >= d->nvlinks) return INVAL; *v = 4; return OK; }
A R nvmlDeviceGetNvLinkRemotePciInfo_v2(dev d, unsigned l, pci *p) { D(d) if (l >= d->nvlinks || st()->n < 2) return INVAL; unsigned me = d - st()->g; unsigned o = (me + 1 + l % (st()->n - 1)) % st()->n; fpci(&st()->g[o], p); return OK; }
A R nvmlDeviceGetP2PStatus(dev a, dev b, int i, int *s) { D(a) D(b) (void)i; *s = 0; return OK; }
typedef struct { unsigned pid; uint64_t used; unsigned gi, ci; } pinfo;
A R nvmlDeviceGetComputeRunningProcesses_v3(dev d, unsigned *n, pinfo *p) { D(d) unsigned k = d->nproc; if (!k) { *n = 0; return OK; } if (!p || *n < k) { *n = k; return SMALL; }
  for (unsigned i = 0; i < k; i++) { p[i].pid = d->procs[i].pid; p[i].used = d->procs[i].used; p[i].gi = p[i].ci = ~0u; } *n = k; return OK; }
A R nvmlDeviceGetComputeRunningProcesses_v2(dev d, unsigned *n, pinfo *p) { return nvmlDeviceGetComputeRunningProcesses_v3(d, n, p); }
A R nvmlDeviceGetGraphicsRunningProcesses_v3(dev d, unsigned *n, pinfo *p) { D(d) (void)p; *n = 0; return OK; }
A R nvmlDeviceGetGraphicsRunningProcesses_v2(dev d, unsigned *n, pinfo *p) { D(d) (void)p; *n = 0; return OK; }
A R nvmlDeviceGetMPSComputeRunningProcesses_v3(dev d, unsigned *n, pinfo *p) { D(d) (void)p; *n = 0; return OK; }
typedef struct { unsigned pid; uint64_t ts; unsigned sm, mem, enc, dec; } psample;
A R nvmlDeviceGetProcessUtilization(dev d, psample *s, unsigned *n, uint64_t since) { D(d) (void)since; unsigned k = d->nproc; if (!k) { *n = 0; return NOTFOUND; } if (!s || *n < k) { *n = k; return SMALL; }
  for (unsigned i = 0; i < k; i++) { memset(&s[i], 0, sizeof *s); s[i].pid = d->procs[i].pid; s[i].ts = since + 1; s[i].sm = d->procs[i].sm_util; } *n = k; return OK; }
typedef struct { unsigned id, scope; int64_t at, latency; int type; R ret; union { double d; int i; unsigned u; unsigned long ul; unsigned long long ull; long long ll; unsigned short us; } v; } field_t;
#define NVLINK_TX 138
#define NVLINK_RX 139
A R nvmlDeviceGetFieldValues(dev d, int n, field_t *v) { D(d) if (M_d) return NOTSUP;
  for (int i = 0; i < n; i++) { v[i].ret = NOTSUP; if ((v[i].id != NVLINK_TX && v[i].id != NVLINK_RX) || d->unsupported & 16 || !d->nvlinks) continue;
    v[i].ret = OK; v[i].type = 3; v[i].v.ull = v[i].id == NVLINK_TX ? d->nvlink_tx_kib : d->nvlink_rx_kib; } return OK; }
A R nvmlSystemGetConfComputeSettings(void *v) { (void)v; return NOTSUP; }
#define XID_CRITICAL 8
#define TIMEOUT 10
A R nvmlDeviceGetSupportedEventTypes(dev d, uint64_t *e) { D(d) U(d, 5) *e = XID_CRITICAL; return OK; }
A R nvmlDeviceGetDriverModel_v2(dev d, int *c, int *p) { D(d) (void)c; (void)p; return NOTSUP; }
A R nvmlDeviceGetDriverModel(dev d, int *c, int *p) { D(d) (void)c; (void)p; return NOTSUP; }
// An event set tells what came after a card was registered in it, once.
typedef struct { unsigned seen; unsigned char of[MAXG]; } set_t;
typedef struct { dev device; unsigned long long type, data; unsigned gi, ci; } edata_t;
A R nvmlEventSetCreate(set_t **s) { if (!inited) return UNINIT; *s = calloc(1, sizeof **s); (*s)->seen = st()->nevents; return OK; }
A R nvmlEventSetFree(set_t *s) { free(s); return OK; }
A R nvmlDeviceRegisterEvents(dev d, unsigned long long types, set_t *s) { D(d) U(d, 5) if (!(types & XID_CRITICAL)) return NOTSUP; s->of[d - st()->g] = 1; return OK; }
A R nvmlEventSetWait_v2(set_t *s, edata_t *e, unsigned ms) { if (!inited) return UNINIT;
  for (unsigned waited = 0;; waited++) {
    while (s->seen < st()->nevents) { event_t *v = &st()->e[s->seen++ % MAXE]; if (v->gpu >= st()->n || !s->of[v->gpu]) continue;
      e->device = &st()->g[v->gpu]; e->type = XID_CRITICAL; e->data = v->xid; e->gi = v->instance; e->ci = ~0u; return OK; }
    if (waited >= ms) return TIMEOUT; usleep(1000); } }
A R nvmlDeviceGetRemappedRows(dev d, unsigned *a, unsigned *b, unsigned *c, unsigned *f) { D(d) *a = *b = *c = *f = 0; return OK; }
A unsigned fake_state_size(void) { return sizeof(state_t); }
A void fake_write_default(void *p) { defaults(p); }
