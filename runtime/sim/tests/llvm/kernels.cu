// Compiled by clang 22 to the PTX beside it: small kernels whose results the tests know.
// clang-22 -x cuda --cuda-gpu-arch=sm_90a --cuda-device-only -nocudainc -nocudalib -O2 -S --cuda-feature=+ptx86
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define TID __nvvm_read_ptx_sreg_tid_x()
#define CTA __nvvm_read_ptx_sreg_ctaid_x()
#define NT __nvvm_read_ptx_sreg_ntid_x()
typedef unsigned u32; typedef unsigned long long u64; typedef _Float16 h;
static __device__ float shfl_down(float x,int d){ return __nvvm_shfl_sync_down_f32(-1,x,d,31);} 
static __device__ float shfl_bfly(float x,int d){ return __nvvm_shfl_sync_bfly_f32(-1,x,d,31);} 
extern "C" {
__global__ void reduce_block(float*out,const float*in,int n){
  __shared__ float part[32]; float s=0;
  for(int i=TID;i<n;i+=NT) s+=in[i];
  for(int d=16;d;d>>=1) s+=shfl_down(s,d);
  if((TID&31)==0) part[TID>>5]=s;
  __syncthreads();
  if(TID<32){ s = TID<NT/32? part[TID]:0.f; for(int d=16;d;d>>=1) s+=shfl_down(s,d); if(TID==0) out[CTA]=s; }
}
__global__ void softmax_row(float*out,const float*in,int n){
  const float*r=in+(u64)CTA*n; float m=-1e30f; 
  for(int i=TID;i<n;i+=32) m=__builtin_fmaxf(m,r[i]);
  for(int d=16;d;d>>=1) m=__builtin_fmaxf(m,shfl_bfly(m,d));
  float s=0; for(int i=TID;i<n;i+=32) s+=__nvvm_ex2_approx_f((r[i]-m)*1.4426950408889634f);
  for(int d=16;d;d>>=1) s+=shfl_bfly(s,d);
  for(int i=TID;i<n;i+=32) out[(u64)CTA*n+i]=__nvvm_ex2_approx_f((r[i]-m)*1.4426950408889634f)/s;
}
__global__ void transpose(u32*out,const u32*in){
  __shared__ u32 t[32][33]; int x=TID&31,y=TID>>5;
  for(int j=y;j<32;j+=NT/32) t[j][x]=in[j*32+x];
  __syncthreads();
  for(int j=y;j<32;j+=NT/32) out[j*32+x]=t[x][j];
}
__global__ void histogram(u32*bins,const u32*in,int n){
  __shared__ u32 b[16]; if(TID<16) b[TID]=0; __syncthreads();
  for(int i=TID+CTA*NT;i<n;i+=NT*__nvvm_read_ptx_sreg_nctaid_x()) __nvvm_atom_add_gen_i((int*)&b[in[i]&15],1);
  __syncthreads();
  if(TID<16) __nvvm_atom_add_gen_i((int*)&bins[TID],b[TID]);
}
__global__ void collatz(u32*out){ u64 v=TID+1; u32 c=0; while(v!=1){ v = v&1? 3*v+1 : v>>1; c++; if(c>200) break;} out[TID]=c; }
__global__ void switches(int*out){ int t=TID; int r; switch(t%9){case 0:r=5;break;case 1:r=t*3;break;case 2:r=t-100;break;case 3:r=t^7;break;case 4:r=t<<3;break;case 5:r=-t;break;case 6:r=t/3;break;case 7: r=t%5;break;default:r=99;} out[t]=r; }
__attribute__((noinline)) static __device__ u32 gcd(u32 a,u32 b){ while(b){u32 t=a%b;a=b;b=t;} return a;}
__global__ void calls(u32*out){ out[TID]=gcd(TID*6+6, 36)+gcd(TID,4); }
__global__ void divisions(long long*out,const long long*in){ long long a=in[TID], b=(long long)TID-7; out[TID*3]= b? a/b:0; out[TID*3+1]= b? a%b:0; out[TID*3+2]=(long long)((unsigned __int128)(u64)a*(u64)(b*b+1)>>64); }
__global__ void halves(h*out,const h*in,float f){ h x=in[TID]; out[TID]= x*x + (h)f*x - (h)1; }
__global__ void local_array(int*out,const int*idx){ int a[16]; for(int i=0;i<16;i++) a[i]=i*i+TID; for(int i=0;i<16;i++){int j=idx[i]&15; int t=a[i];a[i]=a[j];a[j]=t;} int s=0; for(int i=0;i<16;i++) s=s*3+a[i]; out[TID]=s; }
__global__ void scan_block(u32*out,const u32*in){ __shared__ u32 b[2][128]; int t=TID,c=0; b[0][t]=in[t]; __syncthreads();
  for(int d=1;d<128;d<<=1){ b[1-c][t]= t>=d? b[c][t]+b[c][t-d]:b[c][t]; c=1-c; __syncthreads(); } out[t]=b[c][t]; }
__global__ void layernorm(float*out,const float*in,const float*g,int n){ __shared__ float p[8]; const float*r=in+CTA*n; float s=0,q=0; for(int i=TID;i<n;i+=NT){ s+=r[i]; q+=r[i]*r[i]; }
  for(int d=16;d;d>>=1){ s+=shfl_bfly(s,d); q+=shfl_bfly(q,d);} if((TID&31)==0){p[TID>>5]=s;p[4+(TID>>5)]=q;} __syncthreads();
  s=p[0]+p[1]+p[2]+p[3]; q=p[4]+p[5]+p[6]+p[7]; float m=s/n, inv=__nvvm_rsqrt_approx_f(q/n-m*m+1e-5f);
  for(int i=TID;i<n;i+=NT) out[CTA*n+i]=(r[i]-m)*inv*g[i]; }
__global__ void doubles(double*out,const double*in){ double x=in[TID]; out[TID]=__builtin_sqrt(x*x+1.0)/(x+2.0)-(double)(int)x; }
__global__ void last_block(u32*out,u32*ticket,const u32*in){ __shared__ int last; u32 v=in[CTA*32+TID]; out[1+CTA*32+TID]=v*2; __nvvm_membar_gl(); __syncthreads();
  if(TID==0) last = __nvvm_atom_add_gen_i((int*)ticket,1)==(int)__nvvm_read_ptx_sreg_nctaid_x()-1; __syncthreads();
  if(last){ __nvvm_membar_gl(); u32 s=0; for(u32 i=0;i<__nvvm_read_ptx_sreg_nctaid_x();i++) s+=out[1+i*32+TID]; for(int d=16;d;d>>=1) s+=__nvvm_shfl_sync_bfly_i32(-1,s,d,31); if(TID==0) out[0]=s; } }
}
