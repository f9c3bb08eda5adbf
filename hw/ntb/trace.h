#include "trace/trace-hw_ntb.h"
