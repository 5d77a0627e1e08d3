"""A real control plane for tests: built from source once, started in seconds on loopback, gone when the test is.

Used by every test that needs a kube-apiserver (fixtures `control_plane`, `shared_control_plane`), by bench and by hand;
docs/howto/test-cluster.md tells how. Modules: `build` (binaries), `pki` (certificates), `child` (processes), `ports`,
`commands` (what each process is told), `access` (users), `plane` (all of it together), `client` (requests to it),
`audit` (what was asked of it), `fixtures`.
"""
