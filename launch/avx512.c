/* Lets MKL take its AVX-512 kernels on CPUs that are not Intel's.

   MKL asks this function before it chooses its kernels, and on others' CPUs stops at AVX2, whatever they can do. Loaded
   before torch (make avx512, then LD_PRELOAD), our answer stands in for MKL's own. It asks nothing else of the machine:
   where there is no AVX-512, MKL sees that for itself. Sums are rounded in another order then, so such a CPU is another
   kind of device: launch/plan/fingerprint.py sees it by what is computed. On Intel's CPUs nothing changes. */

int mkl_serv_intel_cpu_true(void) { return 1; }
