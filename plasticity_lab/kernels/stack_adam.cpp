// Many steps of stacks of linear layers by Adam or AdamW; see stack.h.

#include "adam.h"
#include "stack.h"

STABLE_TORCH_LIBRARY_IMPL(plasticity_lab, CPU, library) { library.impl("stack_adam", TORCH_BOX(&stack_steps<Adam>)); }
