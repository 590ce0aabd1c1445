// All kernels in one piece: most of the time that compiling takes goes into torch's headers, which are read once so.

#include "linear.cpp"
#include "conv.cpp"
#include "pixels.cpp"
#include "pool.cpp"
#include "softmax.cpp"
