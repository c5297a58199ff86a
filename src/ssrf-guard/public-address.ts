import { BlockList, isIPv6 } from "node:net";

/**
 * Addresses that are not on the public internet: private, loopback, link-local (and with it cloud metadata),
 * reserved.
 */
const V4 = `0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24
  192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4`;

/** Includes all forms that embed an IPv4 address: mapped, translated, 6to4, Teredo. */
const V6 = `::/96 ::ffff:0:0/96 64:ff9b::/96 64:ff9b:1::/48 100::/64 2001::/23 2001:db8::/32 2002::/16 fc00::/7 fe80::/10
  fec0::/10 ff00::/8`;

/** Two lists: in a single one, the IPv6 range of mapped addresses would match every IPv4 address. */
const NOT_PUBLIC = { ipv4: blockList(V4, "ipv4"), ipv6: blockList(V6, "ipv6") };

/** `address` is an IP address, as a resolver gives it. */
export function isPublicAddress(address: string): boolean {
  const bare = address.split("%")[0] ?? "";
  const family = isIPv6(bare) ? "ipv6" : "ipv4";
  return !NOT_PUBLIC[family].check(bare, family);
}

function blockList(ranges: string, family: "ipv4" | "ipv6"): BlockList {
  const list = new BlockList();
  for (const range of ranges.trim().split(/\s+/)) {
    const [address = "", bits] = range.split("/");
    list.addSubnet(address, Number(bits), family);
  }
  return list;
}
