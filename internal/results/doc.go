// Package results makes a folder of results appear whole or not at all, and replaces one without losing it.
//
// # The way of a folder
//
// The target is DIR. One rank goes these steps; the others write into the folder between 4 and 5.
//
//  1. Recover clears up after earlier runs into DIR that were killed.
//  2. Check refuses what could not be published later, or what a replacement would delete.
//  3. Create makes a hidden folder beside DIR, .DIR.HOST-BOOT-PID-TIME.tmp, and locks it.
//  4. Reserve takes the disk space of all files. So a full disk is found before anything is computed.
//  5. Every rank writes its parts and waits until they are on the disk.
//  6. Publish waits for the folder itself, gives it the name DIR, and waits for that name.
//
// If DIR is absent or empty, one rename does it. Otherwise (Force) the hidden folder and DIR change their
// names in one step, renameat2 with RENAME_EXCHANGE, and what was there is deleted after. So a run that is
// killed, or a power loss, leaves the old folder or the new one under the name DIR, and each is whole.
//
// # File systems without an exchange
//
// Some know no exchange of names (NFS, Lustre, older ZFS). There Publish moves DIR to .DIR.….old and the
// hidden folder to DIR, two renames. A run killed between the two leaves no DIR. The next run into DIR finds
// .DIR.….old and moves it back. By hand it is one mv.
//
// # Whose is a hidden folder
//
// A run holds a lock (flock) on its hidden folder until it ends; the system drops it with the process. BOOT,
// a part of the boot identifier, names the kernel on which the run was started. On the same kernel the lock
// tells whether the run lives. No lock reaches other hosts on all network file systems, and a host that was
// started anew has another BOOT. Folders with another BOOT are therefore left until they are old (Stale), and
// Recover names them.
//
// # How far a run is
//
// While a run works, its hidden folder has a file that tells how far it is (Tell). Another process finds it
// by DIR alone (Find). It is gone before the folder gets another name.
//
// # One file instead of a folder
//
// The test matrices of jmpi gen are files beside each other. A Target with Files gives them a hidden folder
// of this kind, in which they are made, and clears up after runs that were killed. What becomes of the
// finished files is the caller's business.
//
// # What is never deleted
//
// Only files named S.npy, U.npy, V.npy, info.json and, in hidden folders, progress.json and
// progress.json.new, or those of Files, are deleted, one by one, and folders only when they are empty. A
// folder that holds anything else is left or gets a visible name.
package results
