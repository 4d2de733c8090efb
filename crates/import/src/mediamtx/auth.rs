//! Permissions to publish and listen: `authMethod` with its users, its hook or its tokens.

use crate::draft::Import;
use crate::source::Directive;

/// Imports all of these.
pub(super) fn auth(root: &Directive, import: &mut Import) {
    let find = |names: [&str; 2]| names.into_iter().find_map(|name| root.child(name));
    let method = find(["authMethod", "authMethods"]);
    let url = find(["authHTTPAddress", "externalAuthenticationURL"]);
    let has_jwks = root
        .value_of("authJWTJWKS")
        .is_some_and(|url| !url.is_empty());
    let says = method.map_or("internal", Directive::value);
    match (says, method) {
        ("internal", Some(method)) => import.carry(method, "[[auth.key]]"),
        ("http", Some(method)) if url.is_some_and(|url| !url.value().is_empty()) => {
            import.set("auth.hook", "dialect", "mediamtx", method);
        }
        ("jwt", Some(method)) if has_jwks => {
            // As in MediaMTX, listeners need a token unless they are excluded.
            let mut excluded = root.child("authJWTExclude").into_iter();
            let is_free = excluded.any(|key| key.children.iter().any(is_all_listening));
            let play = if is_free { "open" } else { "key" };
            import.set("auth", "play", play, method);
        }
        (_, Some(method)) => import.leave(
            method,
            "names nobody who could be asked: listening is free, and publishers need a key",
        ),
        (_, None) => {}
    }
    for key in &root.children {
        match &*key.name {
            "authInternalUsers" if says == "internal" => users(key, import),
            "authInternalUsers" => import.needless(key, "another authMethod is used"),
            "authHTTPAddress" | "externalAuthenticationURL" if key.value().is_empty() => {
                import.needless(key, "is empty");
            }
            "authHTTPAddress" | "authHTTPExclude" if says != "http" => {
                import.needless(key, "another authMethod is used")
            }
            "authHTTPAddress" | "externalAuthenticationURL" => {
                import.set("auth.hook", "url", key.value(), key);
                if method.is_none() {
                    import.set("auth.hook", "dialect", "mediamtx", key);
                }
            }
            "authHTTPExclude" => exclude(key, import),
            name if name.starts_with("authHTTP") => import.leave(
                key,
                "the hook is asked over HTTP or HTTPS with the system's certificates",
            ),
            "authJWTExclude" if says == "jwt" => excluded_from_tokens(key, import),
            name if name.starts_with("authJWT") => token(key, says == "jwt", import),
            _ => {}
        }
    }
}

/// Imports the settings by which tokens are checked.
fn token(key: &Directive, is_used: bool, import: &mut Import) {
    let put = match &*key.name {
        _ if !is_used => return import.needless(key, "another authMethod is used"),
        _ if key.value().is_empty() => return import.needless(key, "is empty"),
        "authJWTJWKS" => "jwks_url",
        "authJWTIssuer" => "issuer",
        "authJWTAudience" => "audience",
        "authJWTClaimKey" if key.value() == "mediamtx_permissions" => {
            return import.needless(key, "tokens are read under this name");
        }
        "authJWTClaimKey" => {
            let why = "permissions are in the claim mediamtx_permissions (docs/permissions.md)";
            return import.leave(key, why);
        }
        "authJWTInHTTPQuery" => {
            let why = "a token may be in the address, as a password or as Bearer";
            return import.needless(key, why);
        }
        _ => {
            let why = "keys are fetched over HTTP or HTTPS with the system's certificates";
            return import.leave(key, why);
        }
    };
    import.set("auth.jwt", put, key.value(), key);
}

/// Returns whether the exclusion lets everybody listen to everything.
fn is_all_listening(item: &Directive) -> bool {
    item.value_of("action") == Some("read") && item.value_of("path").unwrap_or("").is_empty()
}

fn excluded_from_tokens(key: &Directive, import: &mut Import) {
    for item in &key.children {
        let action = item.value_of("action").unwrap_or("");
        let needless = match action {
            "playback" => Some("recordings are listened to as streams are"),
            "api" | "metrics" | "pprof" => Some("the operator's port has auth.admin_password"),
            _ => None,
        };
        for field in &item.children {
            match needless {
                Some(why) => import.needless(field, why),
                None if is_all_listening(item) => import.carry(field, "auth.play"),
                None => import.leave(
                    field,
                    "publishing needs a token, and so does listening to some paths alone: for these [[stream]] has play = \"open\"",
                ),
            }
        }
    }
}

/// Imports actions without permission checks: at most one of listening and publishing can be free.
fn exclude(key: &Directive, import: &mut Import) {
    for item in &key.children {
        let Some(action) = item.child("action") else {
            continue;
        };
        match action.value() {
            "read" | "playback" if item.value_of("path").unwrap_or("").is_empty() => {
                import.set("auth.hook", "asks", "publish", action);
            }
            "api" | "metrics" | "pprof" => {
                import.needless(action, "the hook is not asked about the operator's port")
            }
            _ => import.leave(
                action,
                "publishing, and listening to some paths alone, cannot be excluded from the hook",
            ),
        }
    }
}

fn users(users: &Directive, import: &mut Import) {
    for user in &users.children {
        let (name, pass) = (user.child("user"), user.child("pass"));
        let word = name.map_or("", Directive::value);
        let secret = pass.map_or("", Directive::value);
        let is_hashed = secret.starts_with("sha256:") || secret.starts_with("argon2:");
        let permissions = user.child("permissions");
        for permission in permissions
            .iter()
            .flat_map(|permissions| &permissions.children)
        {
            let Some(action) = permission.child("action") else {
                continue;
            };
            let path = permission.child("path");
            match action.value() {
                "publish" if word == "any" || secret.is_empty() => import.leave(
                    permission,
                    "publishing always needs a key: auth.publish_key, which is generated at each start if it is empty",
                ),
                "publish" if is_hashed => {
                    import.leave(permission, "this kind of hash is not read: give this publisher a new key, as [[auth.key]]");
                }
                "publish" => publisher([name, pass, path], action, import),
                "read" | "playback" if word == "any" => import.needless(permission, "listening is free"),
                "read" | "playback" => import.leave(
                    permission,
                    "listening is free: give listeners an [[auth.key]] with scopes = [\"play\"], and set auth.play = \"key\"",
                ),
                "api" | "metrics" | "pprof" if secret.is_empty() || is_hashed => {
                    import.leave(permission, "the operator's port has auth.admin_password");
                }
                "api" | "metrics" | "pprof" => {
                    import.set("auth", "admin_password", secret, action);
                    import.carry(permission, "auth.admin_password");
                }
                _ => import.leave(permission, "there is no such action"),
            }
        }
        for key in &user.children {
            match &*key.name {
                "permissions" => {}
                "ips" if key.values.is_empty() => import.needless(key, "any address may"),
                "ips" => import.leave(
                    key,
                    "addresses are those of streams, not of users: [[access]] with `allow` says who may connect to which",
                ),
                "user" | "pass" => {
                    import.needless(
                        key,
                        "is used where it permits something that has a key here",
                    );
                }
                _ => import.leave(key, "the import does not know it"),
            }
        }
    }
}

/// Imports a user who may publish as a key of their own.
fn publisher([name, pass, path]: [Option<&Directive>; 3], action: &Directive, import: &mut Import) {
    let Some(id) = import.entry("auth.key", action, &[]) else {
        return;
    };
    let [named, secret, streams] = [name, pass, path].map(|of| of.map_or("", Directive::value));
    let pattern = super::paths::pattern(streams).unwrap_or_else(|| streams.to_owned());
    import.set(id, "name", named, name.unwrap_or(action));
    import.set(id, "key", secret, pass.unwrap_or(action));
    import.set(id, "match", pattern, path.unwrap_or(action));
    import.carry(action, "[[auth.key]]");
}
