// A persistent, warp-specialised gemm on sm_90a: C = A B^T in f16 with f32 sums, for any M and N, and any K (rows of whole 16 bytes, as TMA asks). One thread of a producer warpgroup fills a
// pipeline of 4 stages through TMA; two consumer warpgroups multiply 128 x 128 tiles with asynchronous wgmma, one group of products under way while the next stage is awaited; tiles leave through
// stmatrix and TMA stores while the producer already loads the next ones. Each CTA takes the tiles ctaid, ctaid + grid, ...
// RUN: aitmlir-opt %s | aitmlir-opt | FileCheck %s --check-prefix=PARSED
// RUN: aitmlir-opt --cute-to-nvvm --canonicalize --cse %s | FileCheck %s
// PARSED: cute.producer_acquire
// PARSED: cute.gemm async(
// PARSED: cute.wgmma_wait<0>{{ ?}}(%{{.*}} : !cute.view
// CHECK-LABEL: llvm.func @persistent_gemm
// CHECK-SAME: cute.shared_bytes = 163840 : i64
// CHECK-SAME: cute.tensor_maps = ["0: f16 box [64, 128] swizzle 128", "1: f16 box [64, 128] swizzle 128", "2: f16 box [64, 64] swizzle 128"]
// CHECK: nvvm.mbarrier.init
// CHECK: mbarrier.try_wait.parity.shared::cta.b64
// CHECK: nvvm.mbarrier.arrive.expect_tx
// CHECK-COUNT-2: cp.async.bulk.tensor.2d.shared::cluster.global
// CHECK-COUNT-4: wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16
// CHECK: wgmma.commit_group.sync.aligned
// CHECK: wgmma.wait_group.sync.aligned 1
// CHECK: wgmma.wait_group.sync.aligned 0
// CHECK: stmatrix.sync.aligned.m8n8.x4
// CHECK-COUNT-2: cp.async.bulk.tensor.2d.global.shared::cta
// CHECK-NOT: cute.{{[a-z]}}

!pipe = !cute.pipeline<4, full<1>, empty<8>>
!sp = !cute.ptr<f16, smem, align<1024>>
!boxes = !cute.composed_layout<"S<3,3,3> o 0 o (128,64,4):(64,1,8192)">
!sBoxes = !cute.view<f16, smem, align<1024>, "S<3,3,3> o 0 o (128,64,4):(64,1,8192)">
!box = !cute.view<f16, smem, align<1024>, "S<3,3,3> o ?{div=8192,min=0,max=24576} o (128,64):(64,1)">
!rows = !cute.composed_layout<"S<3,3,3> o 0 o ((8,16),64,4):((64,512),1,8192)">
!sRows = !cute.view<f16, smem, align<1024>, "S<3,3,3> o 0 o ((8,16),64,4):((64,512),1,8192)">
!outer = !cute.composed_layout<"S<3,3,3> o 0 o (128,(64,2)):(64,(1,8192))">
!sOut = !cute.view<f16, smem, align<1024>, "S<3,3,3> o 0 o (128,(64,2)):(64,(1,8192))">
!atStage = !cute.coord<"(_,_,?{min=0,max=3})">
!atPart = !cute.coord<"(_,_,_,?{min=0,max=3})">

// Sizes, coordinates of tiles.
!size2 = !cute.shape<"(?{min=0,max=1048576},?{min=0,max=1048576})">
!id = !cute.coord_view<"(0,0)", "(?{min=0,max=1048576},?{min=0,max=1048576}):(1@0,1@1)">
!tileK = !cute.tile<"[128:1;64:1]">
!tileC = !cute.tile<"[64:1;64:1]">
!atTile = !cute.coord<"(?{min=0,max=8191},_)">
!atBox = !cute.coord<"(?{min=0,max=16383},?{min=0,max=16383})">
!stripK = !cute.coord_view<"(?{div=128,min=0,max=1048448},0)", "(128,64,?{min=0,max=16384}):(1@0,1@1,64@1)">
!atBlock = !cute.coord<"(0,0,?{min=0,max=16383})">
!at = !cute.int_tuple<"(?{div=128,min=0,max=1048448},?{div=64,min=0,max=1048512})">
!boxC = !cute.coord_view<"(?{div=64,min=0,max=1048512},?{div=64,min=0,max=1048512})", "(64,64):(1@0,1@1)">
!zero2 = !cute.coord<"(0,0)">
!atC = !cute.int_tuple<"(?{div=64,min=0,max=1048512},?{div=64,min=0,max=1048512})">

!atom = !cute.mma_atom<"wgmma.m64n128k16.f32.f16.f16.ss.k.k">
!groups = !cute.shape<"(2,1,1)">
!mma = !cute.tiled_mma<"wgmma.m64n128k16.f32.f16.f16.ss.k.k", "(2,1,1):(1,2,2)", "[_;_;_]">
!partA = !cute.view<f16, smem, align<1024>, "S<3,3,3> o ?{div=4096,min=0,max=4096} o ((64,16),1,4,4):((64,1),8192,16,8192)">
!partB = !cute.view<f16, smem, align<1024>, "S<3,3,3> o 0 o ((128,16),1,4,4):((64,1),8192,16,8192)">
!partC = !cute.view<f16, smem, align<1024>, "S<3,3,3> o ?{div=2,min=0,max=7622} o ((2,2,(8,2)),1,1):((1,512,(8,8192)),8192,134217728)">
!sums = !cute.view<f32, rmem, align<16>, "((2,2,(8,2)),1,1):((1,2,(4,32)),64,64)">
!halves = !cute.view<f16, rmem, align<16>, "((2,2,(8,2)),1,1):((1,2,(4,32)),64,64)">
!store = !cute.copy_atom<"stmatrix.x4", f16>

!tiledStore = !cute.tiled_copy<"stmatrix.x4", f16, "((4,8,8),((2,2,16),(1,1))):((256,1,16),((128,8,1024),(128,16384)))", "(128,128)">
!from = !cute.view<f16, rmem, align<16>, "((8,8),1,1):((1,8),0,0)">
!to = !cute.view<f16, smem, align<1024>, "S<3,3,3> o ?{div=8,min=0,max=8136} o ((8,(4,2)),1,1):((1,(16,8192)),8192,1048576)">
!a = !cute.view<f16, smem, align<1024>, "S<3,3,3> o ?{div=4096,min=0,max=28672} o ((64,16),1,4):((64,1),8192,16)">
!b = !cute.view<f16, smem, align<1024>, "S<3,3,3> o ?{div=8192,min=0,max=24576} o ((128,16),1,4):((64,1),8192,16)">
!halfL = !cute.coord<"(?{min=0,max=1},0)">
!halfR = !cute.coord<"(?{min=0,max=1},1)">
!boxOut = !cute.view<f16, smem, align<1024>, "S<3,3,3> o ?{div=4096,min=0,max=12288} o (64,64):(64,1)">

llvm.func @persistent_gemm(%A: !llvm.ptr {llvm.byval = !llvm.array<128 x i8>, llvm.align = 64 : i64, nvvm.grid_constant}, %B: !llvm.ptr {llvm.byval = !llvm.array<128 x i8>, llvm.align = 64 : i64, nvvm.grid_constant},
                           %C: !llvm.ptr {llvm.byval = !llvm.array<128 x i8>, llvm.align = 64 : i64, nvvm.grid_constant}, %m: i32, %n: i32, %k: i32)
    attributes {nvvm.kernel, nvvm.reqntid = array<i32: 384>, nvvm.minctasm = 1 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c4 = arith.constant 4 : i32
  %c31 = arith.constant 31 : i32
  %c32 = arith.constant 32 : i32
  %c64 = arith.constant 64 : i32
  %c127 = arith.constant 127 : i32
  %c128 = arith.constant 128 : i32
  %all = arith.constant -1 : i32
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %cta = nvvm.read.ptx.sreg.ctaid.x : i32
  %grid = nvvm.read.ptx.sreg.nctaid.x : i32
  %ofWarp = arith.divui %tid, %c32 : i32
  %warp = nvvm.shfl.sync idx %all, %ofWarp, %c0, %c31 : i32 -> i32
  %group = arith.divui %warp, %c4 : i32

  // The same memory as boxes, whose rows are 128 bytes, and as wgmma reads it: in groups of 8 rows.
  %pA = cute.alloc_shared<32768> dynamic : !sp
  %pB = cute.alloc_shared<32768> dynamic : !sp
  %pC = cute.alloc_shared<16384> dynamic : !sp
  %boxes = cute.static : !boxes
  %rows = cute.static : !rows
  %outer = cute.static : !outer
  %boxesA = cute.make_view(%pA, %boxes) : (!sp, !boxes) -> !sBoxes
  %boxesB = cute.make_view(%pB, %boxes) : (!sp, !boxes) -> !sBoxes
  %rowsA = cute.make_view(%pA, %rows) : (!sp, !rows) -> !sRows
  %rowsB = cute.make_view(%pB, %rows) : (!sp, !rows) -> !sRows
  %sC = cute.make_view(%pC, %outer) : (!sp, !outer) -> !sOut

  // One arrival fills a stage, that of the thread that expects its bytes; each of the 8 consumer warps empties it.
  %pipe = cute.alloc_pipeline : !pipe
  %first = arith.cmpi eq, %tid, %c0 : i32
  scf.if %first {
    cute.pipeline_init(%pipe) : !pipe
  }
  nvvm.barrier0

  // Where tiles are: identity tensors, tiled as A, B and C would be.
  %sizeA = cute.make_shape(%m, %k) : (i32, i32) -> !size2
  %sizeB = cute.make_shape(%n, %k) : (i32, i32) -> !size2
  %sizeC = cute.make_shape(%m, %n) : (i32, i32) -> !size2
  %idA = cute.make_identity_view(%sizeA) : !size2 -> !id
  %idB = cute.make_identity_view(%sizeB) : !size2 -> !id
  %idC = cute.make_identity_view(%sizeC) : !size2 -> !id
  %tileK = cute.static : !tileK
  %tileC = cute.static : !tileC
  %tilesM = arith.ceildivui %m, %c128 : i32
  %tilesN = arith.ceildivui %n, %c128 : i32
  %tiles = arith.muli %tilesM, %tilesN : i32
  %blocks = arith.ceildivui %k, %c64 : i32
  %some = arith.cmpi ne, %blocks, %c0 : i32

  %produces = arith.cmpi eq, %group, %c0 : i32
  scf.if %produces {
    nvvm.setmaxregister decrease 40
    %firstWarp = arith.cmpi eq, %warp, %c0 : i32
    scf.if %firstWarp {
      %one = nvvm.elect.sync -> i1
      scf.if %one {
        // 128 x 64 elements of A and of B.
        %bytes = arith.constant 32768 : i32
        scf.for %tile = %cta to %tiles step %grid iter_args(%begin = %c0) -> (i32) : i32 {
          %i = arith.divui %tile, %tilesN : i32
          %j = arith.remui %tile, %tilesN : i32
          %atI = cute.make_coord(%i) : (i32) -> !atTile
          %atJ = cute.make_coord(%j) : (i32) -> !atTile
          %stripA = cute.local_tile(%idA, %tileK, %atI) : (!id, !tileK, !atTile) -> !stripK
          %stripB = cute.local_tile(%idB, %tileK, %atJ) : (!id, !tileK, !atTile) -> !stripK
          %end = scf.for %block = %c0 to %blocks step %c1 iter_args(%state = %begin) -> (i32) : i32 {
            %stage = cute.pipeline_stage(%pipe, %state) : !pipe
            %atStage = cute.make_coord(%stage) : (i32) -> !atStage
            %boxA = cute.slice(%boxesA, %atStage) : (!sBoxes, !atStage) -> !box
            %boxB = cute.slice(%boxesB, %atStage) : (!sBoxes, !atStage) -> !box
            %atBlock = cute.make_coord(%block) : (i32) -> !atBlock
            %atA = cute.get_coord(%stripA, %atBlock) : (!stripK, !atBlock) -> !at
            %atB = cute.get_coord(%stripB, %atBlock) : (!stripK, !atBlock) -> !at
            cute.producer_acquire(%pipe, %state) : !pipe
            %full = cute.producer_expect(%pipe, %state, %bytes) : !pipe -> !llvm.ptr<3>
            cute.tma_load(%A, %atA, %boxA, %full) : (!llvm.ptr, !at, !box, !llvm.ptr<3>) -> ()
            cute.tma_load(%B, %atB, %boxB, %full) : (!llvm.ptr, !at, !box, !llvm.ptr<3>) -> ()
            %next = cute.pipeline_next(%pipe, %state) : !pipe
            scf.yield %next : i32
          }
          scf.yield %end : i32
        }
      }
    }
  } else {
    nvvm.setmaxregister increase 232
    // The consumers' own numbers: of the thread among 256, of its warpgroup among 2, of its barrier.
    %thread = arith.subi %tid, %c128 : i32
    %half = arith.subi %group, %c1 : i32
    %inGroup = arith.andi %tid, %c127 : i32
    %stores = arith.cmpi eq, %inGroup, %c0 : i32

    %atom = cute.static : !atom
    %groups = cute.static : !groups
    %mma = cute.make_tiled_mma(%atom, %groups) : (!atom, !groups) -> !mma
    %partA = cute.partition<"A">(%mma, %rowsA, %thread) : (!mma, !sRows, i32) -> !partA
    %partB = cute.partition<"B">(%mma, %rowsB, %thread) : (!mma, !sRows, i32) -> !partB
    %partC = cute.partition<"C">(%mma, %sC, %thread) : (!mma, !sOut, i32) -> !partC
    %sums = cute.make_fragment<"C">(%mma, %partC) : (!mma, !partC) -> !sums
    %halves = cute.make_fragment_like<"f16">(%sums) : (!sums) -> !halves
    %storeAtom = cute.static : !store
    %store = cute.make_tiled_copy_for<"C">(%storeAtom, %mma) : (!store, !mma) -> !tiledStore
    %from = cute.retile(%store, %halves) : (!tiledStore, !halves) -> !from
    %to = cute.partition<"D">(%store, %sC, %thread) : (!tiledStore, !sOut, i32) -> !to
    %zero = arith.constant 0.0 : f32

    scf.for %tile = %cta to %tiles step %grid iter_args(%begin = %c0) -> (i32) : i32 {
      cute.fill(%zero, %sums) : (f32, !sums) -> ()
      cute.wgmma_fence(%sums : !sums)
      %end, %last = scf.for %block = %c0 to %blocks step %c1 iter_args(%state = %begin, %before = %begin) -> (i32, i32) : i32 {
        %stage = cute.pipeline_stage(%pipe, %state) : !pipe
        %atStage = cute.make_coord(%stage) : (i32) -> !atPart
        %a = cute.slice(%partA, %atStage) : (!partA, !atPart) -> !a
        %b = cute.slice(%partB, %atStage) : (!partB, !atPart) -> !b
        cute.consumer_wait(%pipe, %state) : !pipe
        cute.wgmma_fence
        cute.gemm async(%mma, %sums, %a, %b, %sums) : (!mma, !sums, !a, !b, !sums) -> ()
        cute.wgmma_commit
        // This stage's products go on; those of the stage before are over.
        cute.wgmma_wait<1>
        %later = arith.cmpi ne, %block, %c0 : i32
        %one = nvvm.elect.sync -> i1
        %releases = arith.andi %one, %later : i1
        scf.if %releases {
          cute.consumer_release(%pipe, %before) : !pipe
        }
        %next = cute.pipeline_next(%pipe, %state) : !pipe
        scf.yield %next, %state : i32, i32
      }
      cute.wgmma_wait<0>(%sums : !sums)
      %one = nvvm.elect.sync -> i1
      %releases = arith.andi %one, %some : i1
      scf.if %releases {
        cute.consumer_release(%pipe, %last) : !pipe
      }

      // The tile before has been read from shared memory; then this one goes there, and from there to C.
      scf.if %stores {
        nvvm.cp.async.bulk.wait_group 0 {read}
      }
      nvvm.barrier id = %group number_of_threads = %c128
      cute.convert(%sums, %halves) : (!sums, !halves) -> ()
      cute.copy(%store, %from, %to) : (!tiledStore, !from, !to) -> ()
      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
      nvvm.barrier id = %group number_of_threads = %c128
      scf.if %stores {
        // Two boxes of 64 columns for the 64 rows of a warpgroup.
        %i = arith.divui %tile, %tilesN : i32
        %j = arith.remui %tile, %tilesN : i32
        %i2 = arith.muli %i, %c2 : i32
        %j2 = arith.muli %j, %c2 : i32
        %row = arith.addi %i2, %half : i32
        %column = arith.addi %j2, %c1 : i32
        %atLeft = cute.make_coord(%row, %j2) : (i32, i32) -> !atBox
        %atRight = cute.make_coord(%row, %column) : (i32, i32) -> !atBox
        %leftAt = cute.local_tile(%idC, %tileC, %atLeft) : (!id, !tileC, !atBox) -> !boxC
        %rightAt = cute.local_tile(%idC, %tileC, %atRight) : (!id, !tileC, !atBox) -> !boxC
        %origin = cute.static : !zero2
        %atL = cute.get_coord(%leftAt, %origin) : (!boxC, !zero2) -> !atC
        %atR = cute.get_coord(%rightAt, %origin) : (!boxC, !zero2) -> !atC
        %inL = cute.make_coord(%half) : (i32) -> !halfL
        %inR = cute.make_coord(%half) : (i32) -> !halfR
        %left = cute.local_tile(%sC, %tileC, %inL) : (!sOut, !tileC, !halfL) -> !boxOut
        %right = cute.local_tile(%sC, %tileC, %inR) : (!sOut, !tileC, !halfR) -> !boxOut
        cute.tma_store(%C, %atL, %left) : (!llvm.ptr, !atC, !boxOut) -> ()
        cute.tma_store(%C, %atR, %right) : (!llvm.ptr, !atC, !boxOut) -> ()
        nvvm.cp.async.bulk.commit.group
      }
      scf.yield %end : i32
    }
    // Shared memory goes to another CTA when this one ends.
    scf.if %stores {
      nvvm.cp.async.bulk.wait_group 0 {read}
    }
  }
  llvm.return
}
