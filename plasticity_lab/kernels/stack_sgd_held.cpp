// The same by SGD, with the work of simple interventions; see held.h and stack.h.

#include "sgd.h"
#include "held.h"
#include "stack.h"

STABLE_TORCH_LIBRARY_IMPL(plasticity_lab, CPU, library) { library.impl("stack_sgd_held", TORCH_BOX(&stack_steps<Held<Sgd>>)); }
