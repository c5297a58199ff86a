import { expect, it } from "vitest";
import { isPublicAddress } from "../../src/web/public-address.js";

it.each([
  "127.0.0.1",
  "127.8.9.1",
  "0.0.0.0",
  "10.1.2.3",
  "172.16.0.1",
  "172.31.255.255",
  "192.168.1.1",
  "100.64.0.1",
  "169.254.169.254",
  "224.0.0.1",
  "255.255.255.255",
  "192.0.2.1",
  "198.18.0.1",
  "::",
  "::1",
  "::127.0.0.1",
  "::ffff:127.0.0.1",
  "::ffff:a9fe:a9fe",
  "::ffff:8.8.8.8",
  "fe80::1",
  "fe80::1%eth0",
  "fc00::1",
  "fd00:ec2::254",
  "ff02::1",
  "64:ff9b::7f00:1",
  "2002:7f00:1::",
  "2001::1",
  "2001:db8::1",
])("%s is not public", (address) => expect(isPublicAddress(address)).toBe(false));

it.each([
  "8.8.8.8",
  "1.1.1.1",
  "172.15.0.1",
  "172.32.0.1",
  "192.167.1.1",
  "100.128.0.1",
  "2606:4700::1111",
  "2a00:1450::1",
])("%s is public", (address) => expect(isPublicAddress(address)).toBe(true));
