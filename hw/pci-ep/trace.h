#include "trace/trace-hw_pci_ep.h"
