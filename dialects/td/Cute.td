// Every definition of the cute dialect.

include "CuteAsyncOps.td"
include "CuteCoordOps.td"
include "CuteEdgeOps.td"
include "CuteLayoutOps.td"
include "CuteViewOps.td"
