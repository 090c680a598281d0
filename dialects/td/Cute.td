// Every definition of the cute dialect.

include "CuteLayoutOps.td"
include "CuteViewOps.td"
