// The same by Adam or AdamW, with the work of simple interventions; see held.h and stack.h.

#include "adam.h"
#include "held.h"
#include "stack.h"

STABLE_TORCH_LIBRARY_IMPL(plasticity_lab, CPU, library) { library.impl("stack_adam_held", TORCH_BOX(&stack_steps<Held<Adam>>)); }
