{{- define "linkscore.name" -}}
{{- printf "%s-linkscore" .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- end }}

{{- define "linkscore.selector" -}}
app.kubernetes.io/name: linkscore
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "linkscore.labels" -}}
{{ include "linkscore.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "linkscore.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "linkscore.locked" -}}
runAsUser: 10001
runAsGroup: 10001
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- /* A gRPC probe speaks no TLS: with TLS the server is asked by its own command. */ -}}
{{- define "linkscore.healthProbe" -}}
{{- if .Values.tlsSecret -}}
exec: {command: [linkscore, health]}
{{- else -}}
grpc: {port: 7411}
{{- end -}}
{{- end }}

{{- define "linkscore.secrets" -}}
{{- if .Values.tokensSecret }}
- {name: tokens, secret: {secretName: {{ .Values.tokensSecret }}}}
{{- end }}
{{- if .Values.tlsSecret }}
- {name: tls, secret: {secretName: {{ .Values.tlsSecret }}}}
{{- end }}
{{- end }}

{{- define "linkscore.claim" -}}
- metadata:
    name: linkscore-data
  spec:
    accessModes: [ReadWriteOnce]
    {{- with .Values.persistence.storageClass }}
    storageClassName: {{ . }}
    {{- end }}
    resources:
      requests:
        storage: {{ .Values.persistence.size }}
{{- end }}

{{- /* Of one server; in a cluster with `role`, front or owner, and its `resources` beside the values. */ -}}
{{- define "linkscore.container" -}}
name: linkscore
image: {{ include "linkscore.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
ports:
  - {name: grpc, containerPort: 7411}
  - {name: metrics, containerPort: 9411}
  {{- if eq (.role | default "") "owner" }}
  - {name: peers, containerPort: 7511}
  {{- end }}
env:
  {{- with .role }}
  - {name: LINKSCORE_ROLE, value: {{ . }}}
  - {name: LINKSCORE_LOG, value: "kafka://{{ join "," $.Values.cluster.brokers }}"}
  {{- end }}
  {{- if eq (.role | default "") "owner" }}
  - {name: LINKSCORE_PEERS_LISTEN, value: "0.0.0.0:7511"}
  - {name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
  - {name: LINKSCORE_ADVERTISE, value: "$(POD_NAME).{{ include "linkscore.name" . }}-owner:7511"}
  {{- end }}
  {{- if and .role .Values.cluster.propertiesSecret }}
  - {name: LINKSCORE_KAFKA_PROPERTIES, value: /etc/linkscore/kafka/client.properties}
  {{- end }}
  {{- range $name, $value := .Values.settings }}
  - {name: {{ $name }}, value: {{ $value | quote }}}
  {{- end }}
  {{- if .Values.tokensSecret }}
  - {name: LINKSCORE_TOKEN_FILE, value: /etc/linkscore/tokens/tokens}
  {{- end }}
  {{- if .Values.tlsSecret }}
  - {name: LINKSCORE_TLS_CERT, value: /etc/linkscore/tls/tls.crt}
  - {name: LINKSCORE_TLS_KEY, value: /etc/linkscore/tls/tls.key}
  {{- end }}
startupProbe:
  {{- include "linkscore.healthProbe" . | nindent 2 }}
  periodSeconds: 2
  # Loading the logs may take this long: 150 x 2 s.
  failureThreshold: 150
readinessProbe:
  {{- include "linkscore.healthProbe" . | nindent 2 }}
  periodSeconds: 5
livenessProbe:
  # The port, not the health: a server that drains or loads is alive.
  tcpSocket: {port: grpc}
  periodSeconds: 10
resources:
  {{- toYaml (.resources | default .Values.resources) | nindent 2 }}
securityContext:
  {{- include "linkscore.locked" . | nindent 2 }}
volumeMounts:
  - {name: linkscore-data, mountPath: /var/lib/linkscore}
  {{- if .Values.tokensSecret }}
  - {name: tokens, mountPath: /etc/linkscore/tokens, readOnly: true}
  {{- end }}
  {{- if .Values.tlsSecret }}
  - {name: tls, mountPath: /etc/linkscore/tls, readOnly: true}
  {{- end }}
  {{- if and .role .Values.cluster.propertiesSecret }}
  - {name: kafka, mountPath: /etc/linkscore/kafka, readOnly: true}
  {{- end }}
{{- end }}

{{- /* A pod of a cluster, with `role`, front or owner, and its `resources` beside the values. */ -}}
{{- define "linkscore.memberPod" -}}
metadata:
  labels:
    {{- include "linkscore.labels" . | nindent 4 }}
    app.kubernetes.io/component: {{ .role }}
spec:
  terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
  automountServiceAccountToken: false
  securityContext:
    runAsNonRoot: true
    fsGroup: 10001
  # Two of a kind on one machine are lost together.
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "linkscore.selector" . | nindent 10 }}
          app.kubernetes.io/component: {{ .role }}
  containers:
    - {{- include "linkscore.container" . | nindent 6 }}
  {{- if or (eq .role "front") .Values.tokensSecret .Values.tlsSecret .Values.cluster.propertiesSecret }}
  volumes:
    {{- if eq .role "front" }}
    - {name: linkscore-data, emptyDir: {}}
    {{- end }}
    {{- with .Values.cluster.propertiesSecret }}
    - {name: kafka, secret: {secretName: {{ . }}}}
    {{- end }}
    {{- include "linkscore.secrets" . | nindent 4 }}
  {{- end }}
{{- end }}
