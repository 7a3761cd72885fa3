// The random number generator of generation 5, which Showdown battles use: the same numbers in whole-number arithmetic.
//
// It is a 64-bit linear congruential generator kept as four 16-bit limbs, the highest first. Showdown multiplies them in
// two loops over fresh arrays. Its sums pass 2^32, of which `>>>` keeps the lower 32 bits and so loses a carry that 64-bit
// arithmetic would not; that is kept.
'use strict';

const [A0, A1, A2, A3] = [0x5d58, 0x8b65, 0x6c07, 0x8965];
const [C2, C3] = [0x26, 0x9ec3];

const replaced = {
  next() {
    const { seed } = this;
    const s0 = seed[0];
    const s1 = seed[1];
    const s2 = seed[2];
    const s3 = seed[3];
    let carry = s3 * A3 + C3;
    const r3 = carry & 0xffff;
    carry = (carry >>> 16) + s2 * A3 + s3 * A2 + C2;
    const r2 = carry & 0xffff;
    carry = (carry >>> 16) + s1 * A3 + s2 * A2 + s3 * A1;
    const r1 = carry & 0xffff;
    carry = (carry >>> 16) + s0 * A3 + s1 * A2 + s2 * A1 + s3 * A0;
    const r0 = carry & 0xffff;
    this.seed = [r0, r1, r2, r3];
    return (r0 << 16 >>> 0) + r1;
  },
};

module.exports = { replaced };
